// All of it needs the interpreter's lock, but the expansion of what was compressed.

#include "decode.h"

#include <span>
#include <utility>

#include "decoder.h"
#include "interpreter.h"
#include "memory.h"

namespace muster::python {
namespace {

Result<nb::object> read_document(std::span<const Buffer> parts, const DecodeOptions& options) {
  const BufferOwner* owner = parts[0].owner();
  // What other processes can write to may change while it is read: then a copy.
  const bool is_shared = owner != nullptr && owner->origin() != nullptr;
  const Buffer tree = is_shared ? Buffer::copy_of(parts[0].bytes()) : parts[0];
  return Decoder(tree, parts.subspan(1), options).read_document();
}

nb::object read_bytes(const Buffer& part) {
  nb::object made = nb::steal(to_bytes(part));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

Result<nb::object> decode_plain(const msg::EncodedBody& body, const DecodeOptions& options) {
  const std::span<const Buffer> parts(body.parts.begin(), body.parts.end());
  switch (body.form) {
    case msg::BodyForm::none:
      if (parts.empty()) return nb::object(nb::none());
      break;
    case msg::BodyForm::bytes:
      if (parts.size() != 1) break;
      return read_bytes(parts[0]);
    case msg::BodyForm::document:
      if (parts.empty()) break;
      return read_document(parts, options);
  }
  return Error(Code::invalid, "a message's body: its parts are not what its head says");
}

}  // namespace

Result<nb::object> decode(const msg::EncodedBody& body, const DecodeOptions& options) {
  if (body.compression == msg::Compression::none) return decode_plain(body, options);
  Result<msg::EncodedBody> expanded = [&] {
    const Unlocked unlocked;
    return msg::expand_body(body, options.limits);
  }();
  if (!expanded) return std::move(expanded).error();
  return decode_plain(*expanded, options);
}

}  // namespace muster::python
