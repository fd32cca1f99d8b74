#include "muster/msg/message_codec.h"

#include <string>
#include <utility>
#include <vector>

#include "muster/msg/compression.h"
#include "muster/wire/bytes.h"

namespace muster::msg {
namespace {

using wire::Value;

constexpr std::size_t kSizeOfSize = 8;
// In the list of sizes: this part travels as it is.
constexpr std::uint64_t kIsPlain = std::uint64_t{1} << 63;

Error invalid(std::string_view why) {
  return {Code::invalid, "a message's body: " + std::string(why)};
}

// Puts the list of sizes before the parts, and compresses what it can. False if
// nothing became smaller, or there is no place for the list.
bool compress_parts(Compression how, wire::Parts& parts) {
  if (parts.empty() || parts.size() >= wire::kMaxParts) return false;
  WritableBuffer sizes = WritableBuffer::on_heap(kSizeOfSize * parts.size());
  wire::Parts made;
  made.push_back(Buffer());
  bool is_smaller = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::optional<Buffer> smaller = compress(how, parts[i]);
    wire::store(sizes.data() + kSizeOfSize * i, parts[i].size() | (smaller ? 0 : kIsPlain));
    is_smaller |= smaller.has_value();
    made.push_back(smaller ? *std::move(smaller) : parts[i]);
  }
  made[0] = std::move(sizes).freeze();
  if (is_smaller) parts = std::move(made);
  return is_smaller;
}

// What the parts must grow to, all of it known to be allowed.
Result<std::vector<std::uint64_t>> read_sizes(std::span<const Buffer> parts,
                                              std::uint64_t max_decompressed) {
  if (parts.size() < 2) return invalid("compressed, but without parts");
  const Buffer& list = parts[0];
  if (list.size() != kSizeOfSize * (parts.size() - 1)) {
    return invalid("a list of sizes that is not one for each part");
  }
  std::vector<std::uint64_t> sizes(parts.size() - 1);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = wire::load<std::uint64_t>(list.data() + kSizeOfSize * i);
    const std::uint64_t size = sizes[i] & ~kIsPlain;
    if ((sizes[i] & kIsPlain) != 0) {
      if (size != parts[i + 1].size()) return invalid("a plain part of another size");
      continue;
    }
    if (size > max_decompressed || sum + size > max_decompressed) {
      return invalid("its compressed parts would grow above the limit");
    }
    sum += size;
  }
  return sizes;
}

Result<std::vector<Buffer>> decompress_parts(Compression how, std::span<const Buffer> parts,
                                             std::uint64_t max_decompressed) {
  MUSTER_TRY(const std::vector<std::uint64_t> sizes, read_sizes(parts, max_decompressed));
  std::vector<Buffer> made;
  made.reserve(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if ((sizes[i] & kIsPlain) != 0) {
      made.push_back(parts[i + 1]);
      continue;
    }
    MUSTER_TRY(Buffer part, decompress(how, parts[i + 1], sizes[i]));
    made.push_back(std::move(part));
  }
  return made;
}

// What other processes can write to may change while it is read: then a copy.
Buffer own_tree(const Buffer& tree) {
  const bool is_shared = tree.owner() != nullptr && tree.owner()->origin() != nullptr;
  return is_shared ? Buffer::copy_of(tree.bytes()) : tree;
}

Result<Value> decode_plain(BodyForm form, std::span<const Buffer> parts,
                           const wire::Limits& limits) {
  switch (form) {
    case BodyForm::none:
      if (!parts.empty()) return invalid("parts where there is none");
      return Value();
    case BodyForm::bytes:
      if (parts.size() != 1) return invalid("bytes are one part");
      return Value(parts[0]);
    case BodyForm::document:
      if (parts.empty()) return invalid("a document without a tree");
      return wire::decode(own_tree(parts[0]), parts.subspan(1), limits);
  }
  return invalid("unknown form");
}

}  // namespace

Result<EncodedBody> encode_body(const Value& body, Compression compression,
                                const BodyLimits& limits) {
  EncodedBody encoded;
  MUSTER_TRY_OK(encode_body(body, compression, limits, encoded));
  return encoded;
}

Status encode_body(const Value& body, Compression compression, const BodyLimits& limits,
                   EncodedBody& encoded) {
  if (const Buffer* bytes = body.as_bytes()) {
    encoded.form = BodyForm::bytes;
    encoded.parts.push_back(*bytes);
  } else if (!body.is_nil()) {
    MUSTER_TRY(wire::Document document, wire::encode(body, {.limits = limits.values}));
    encoded.form = BodyForm::document;
    encoded.parts.push_back(std::move(document.tree));
    for (Buffer& part : document.parts) encoded.parts.push_back(std::move(part));
  }
  compress_body(encoded, compression);
  return ok();
}

void compress_body(EncodedBody& body, Compression compression) {
  if (compression != Compression::none && compress_parts(compression, body.parts)) {
    body.compression = compression;
  }
}

Result<EncodedBody> expand_body(const EncodedBody& body, const BodyLimits& limits) {
  if (body.compression == Compression::none) return body;
  MUSTER_TRY(std::vector<Buffer> grown,
             decompress_parts(body.compression, {body.parts.begin(), body.parts.end()},
                              limits.max_decompressed));
  EncodedBody expanded;
  expanded.form = body.form;
  for (Buffer& part : grown) expanded.parts.push_back(std::move(part));
  return expanded;
}

Result<Value> decode_body(BodyForm form, Compression compression, std::span<const Buffer> parts,
                          const BodyLimits& limits) {
  if (compression == Compression::none) return decode_plain(form, parts, limits.values);
  MUSTER_TRY(const std::vector<Buffer> grown,
             decompress_parts(compression, parts, limits.max_decompressed));
  return decode_plain(form, grown, limits.values);
}

Value error_to_value(const Error& error) {
  const std::string& text = error.message();
  return Value::List{static_cast<unsigned>(error.code()),
                     wire::is_utf8(text) ? Value(text) : Value("(not text)")};
}

Error value_to_error(const Value& value) {
  const Value::List* list = value.as_list();
  if (list == nullptr || list->size() != 2 || (*list)[1].as_string() == nullptr) {
    return {Code::internal, "a failure that does not say what it is"};
  }
  const auto code = (*list)[0].as_unsigned().value_or(0);
  const bool is_known = code >= 1 && code <= static_cast<unsigned>(Code::internal);
  return {is_known ? static_cast<Code>(code) : Code::internal, *(*list)[1].as_string()};
}

}  // namespace muster::msg
