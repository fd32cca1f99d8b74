#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "muster/wire/bytes.h"
#include "muster/wire/value_codec.h"
#include "muster/wire/value_format.h"

namespace muster::wire {
namespace {

using internal::big_endian;
using internal::Extension;
using internal::Mark;

// Reads one document, front to back. What fails leaves its reason in error_ and
// returns false, all the way up: a Result for each value costs more than the value.
class Reader {
 public:
  Reader(const Buffer& tree, std::span<const Buffer> parts, const Limits& limits)
      : tree_(tree), at_(tree.data()), end_(at_ + tree.size()), parts_(parts), limits_(limits) {}

  Result<Value> read_document() {
    Value value;
    if (!check_size() || !read(value) || !check_end()) return *std::move(error_);
    return value;
  }

 private:
  using Read = bool (Reader::*)(Value& out, std::size_t count);

  bool check_size() {
    if (tree_.size() > limits_.max_bytes) {
      return fail("a document of " + std::to_string(tree_.size()) + " bytes, at most " +
                  std::to_string(limits_.max_bytes) + " may come");
    }
    if (parts_.size() > limits_.max_parts) {
      return fail("a document of " + std::to_string(parts_.size()) + " parts, at most " +
                  std::to_string(limits_.max_parts) + " may come");
    }
    return true;
  }

  bool check_end() {
    start_ = at_;
    if (at_ != end_) return fail(std::to_string(left()) + " bytes follow the document");
    if (next_part_ != parts_.size()) {
      return fail("the document ends without a word of part " + std::to_string(next_part_) +
                  ", it has " + std::to_string(parts_.size()));
    }
    return true;
  }

  bool read(Value& out) {
    start_ = at_;
    --owed_;
    std::uint8_t first = 0;
    if (!take(first)) return false;
    const auto mark = static_cast<Mark>(first);
    if (mark < Mark::fix_map) return set(out, first);
    if (mark >= Mark::fix_negative) return set(out, static_cast<std::int8_t>(first));
    if (mark < Mark::fix_list) return read_map(out, first & internal::kFixCount);
    if (mark < Mark::fix_string) return read_list(out, first & internal::kFixCount);
    if (mark < Mark::nil) return read_string(out, first & internal::kFixString);
    return read_marked(out, mark);
  }

  bool read_marked(Value& out, Mark mark) {
    switch (mark) {
      case Mark::nil: return set(out, nullptr);
      case Mark::no: return set(out, false);
      case Mark::yes: return set(out, true);
      case Mark::bytes8: return read_counted<std::uint8_t>(out, &Reader::read_bytes);
      case Mark::bytes16: return read_counted<std::uint16_t>(out, &Reader::read_bytes);
      case Mark::bytes32: return read_counted<std::uint32_t>(out, &Reader::read_bytes);
      case Mark::extension8: return read_counted<std::uint8_t>(out, &Reader::read_extension);
      case Mark::extension16: return read_counted<std::uint16_t>(out, &Reader::read_extension);
      case Mark::extension32: return read_counted<std::uint32_t>(out, &Reader::read_extension);
      case Mark::real32: return read_number<std::uint32_t, float>(out);
      case Mark::real64: return read_number<std::uint64_t, double>(out);
      case Mark::unsigned8: return read_number<std::uint8_t>(out);
      case Mark::unsigned16: return read_number<std::uint16_t>(out);
      case Mark::unsigned32: return read_number<std::uint32_t>(out);
      case Mark::unsigned64: return read_number<std::uint64_t>(out);
      case Mark::signed8: return read_number<std::uint8_t, std::int8_t>(out);
      case Mark::signed16: return read_number<std::uint16_t, std::int16_t>(out);
      case Mark::signed32: return read_number<std::uint32_t, std::int32_t>(out);
      case Mark::signed64: return read_number<std::uint64_t, std::int64_t>(out);
      case Mark::fix_extension1: return read_extension(out, 1);
      case Mark::fix_extension2: return read_extension(out, 2);
      case Mark::fix_extension4: return read_extension(out, 4);
      case Mark::fix_extension8: return read_extension(out, 8);
      case Mark::fix_extension16: return read_extension(out, 16);
      case Mark::string8: return read_counted<std::uint8_t>(out, &Reader::read_string);
      case Mark::string16: return read_counted<std::uint16_t>(out, &Reader::read_string);
      case Mark::string32: return read_counted<std::uint32_t>(out, &Reader::read_string);
      case Mark::list16: return read_counted<std::uint16_t>(out, &Reader::read_list);
      case Mark::list32: return read_counted<std::uint32_t>(out, &Reader::read_list);
      case Mark::map16: return read_counted<std::uint16_t>(out, &Reader::read_map);
      case Mark::map32: return read_counted<std::uint32_t>(out, &Reader::read_map);
      default: return fail("no MessagePack value begins with 0xc1");
    }
  }

  template <class T>
  bool read_counted(Value& out, Read read_rest) {
    T count = 0;
    return take(count) && (this->*read_rest)(out, count);
  }

  // `Bits` as they travel, `Number` as they are meant.
  template <class Bits, class Number = Bits>
  bool read_number(Value& out) {
    Bits bits = 0;
    return take(bits) && set(out, std::bit_cast<Number>(bits));
  }

  bool read_string(Value& out, std::size_t size) {
    if (!has("a string", size)) return false;
    const std::string_view text(reinterpret_cast<const char*>(at_), size);
    if (!is_utf8(text)) return fail("a string that is not UTF-8");
    at_ += size;
    return set(out, text);
  }

  bool read_bytes(Value& out, std::size_t size) {
    if (!has("a byte string", size)) return false;
    const auto offset = static_cast<std::size_t>(at_ - tree_.data());
    at_ += size;
    // An empty one has no reason to keep the tree alive.
    return set(out, size > 0 ? tree_.slice(offset, size) : Buffer());
  }

  bool read_list(Value& out, std::size_t count) {
    if (!enter("a list", count)) return false;
    for (Value& item : out.make_list(count)) {
      if (!read(item)) return false;
    }
    --depth_;
    return true;
  }

  bool read_map(Value& out, std::size_t count) {
    if (!enter("a map", 2 * count)) return false;
    for (Value::Entry& entry : out.make_map(count)) {
      if (!read(entry.key) || !read(entry.value)) return false;
    }
    --depth_;
    return true;
  }

  // Admits a list or map of `count` values, before there is memory for them.
  bool enter(const char* what, std::size_t count) {
    const auto claim = [&] {
      return std::string(what) + " of " + std::to_string(count) + " values";
    };
    if (depth_ == limits_.max_depth) {
      return fail(std::string(what) + " nested deeper than " + std::to_string(depth_));
    }
    // Every value takes a byte at least, and so do those that the lists and maps
    // around this one still wait for. Without them, each of the nested ones
    // could claim all that is left, and be given memory for it.
    const std::size_t room = left() > owed_ ? left() - owed_ : 0;
    if (count > room) {
      return fail(claim() + ", the document has room for " + std::to_string(room));
    }
    if (count > limits_.max_values - values_) {
      return fail(claim() + " after " + std::to_string(values_) + ", at most " +
                  std::to_string(limits_.max_values) + " may come");
    }
    ++depth_;
    values_ += count;
    owed_ += count;
    return true;
  }

  bool read_extension(Value& out, std::size_t size) {
    std::uint8_t type = 0;
    if (!take(type) || !has("an extension", size)) return false;
    const std::byte* const payload = std::exchange(at_, at_ + size);
    switch (static_cast<Extension>(type)) {
      case Extension::bytes: return read_bytes_part(out, {payload, size});
      case Extension::tensor: return read_tensor(out, {payload, size});
    }
    return fail(
        "extension type " + std::to_string(static_cast<std::int8_t>(type)) + " means nothing here",
        Code::unsupported);
  }

  bool read_bytes_part(Value& out, std::span<const std::byte> payload) {
    if (payload.size() != internal::kBytesExtension) {
      return fail("a byte string's extension of " + std::to_string(payload.size()) + " bytes");
    }
    const Buffer* part = take_part(load<std::uint32_t>(payload.data()));
    return part != nullptr && set(out, *part);
  }

  bool read_tensor(Value& out, std::span<const std::byte> payload) {
    if (payload.size() < internal::kTensorExtension || payload.size() % 8 != 0) {
      return fail("a tensor's extension of " + std::to_string(payload.size()) + " bytes");
    }
    const auto dtype = load<std::uint32_t>(payload.data() + 4);
    const std::size_t rank = (payload.size() - internal::kTensorExtension) / 8;
    if (dtype > UINT8_MAX || size_of(static_cast<DType>(dtype)) == 0) {
      return fail("a tensor of the unknown dtype " + std::to_string(dtype));
    }
    if (rank > kMaxRank) {
      return fail("a tensor of " + std::to_string(rank) + " dimensions, at most " +
                  std::to_string(kMaxRank) + " may come");
    }
    const Buffer* part = take_part(load<std::uint32_t>(payload.data()));
    if (part == nullptr) return false;

    Tensor tensor{static_cast<DType>(dtype), std::vector<std::uint64_t>(rank), *part};
    for (std::size_t i = 0; i < rank; ++i) {
      tensor.shape[i] = load<std::uint64_t>(payload.data() + internal::kTensorExtension + 8 * i);
    }
    const std::optional<std::uint64_t> size = tensor_size(tensor.dtype, tensor.shape);
    if (size != part->size()) {
      return fail("a tensor of " + (size ? std::to_string(*size) : "too many") +
                  " bytes in a part of " + std::to_string(part->size()));
    }
    return set(out, std::move(tensor));
  }

  // The part that is referred to next. In order, so that each is meant once:
  // a small tree cannot make a large part be read, or sent on, a thousand times.
  const Buffer* take_part(std::uint32_t index) {
    if (index >= parts_.size()) {
      fail("refers to part " + std::to_string(index) + " where there are " +
           std::to_string(parts_.size()));
      return nullptr;
    }
    if (index != next_part_) {
      fail("refers to part " + std::to_string(index) + " where part " + std::to_string(next_part_) +
           " is next");
      return nullptr;
    }
    return &parts_[next_part_++];
  }

  template <class T>
  bool take(T& number) {
    if (left() < sizeof(T)) return fail("the document is cut short");
    number = big_endian(load<T>(at_));
    at_ += sizeof(T);
    return true;
  }

  bool has(const char* what, std::size_t size) {
    if (size <= left()) return true;
    return fail(std::string(what) + " of " + std::to_string(size) + " bytes is cut short, " +
                std::to_string(left()) + " are left");
  }

  template <class T>
  static bool set(Value& out, T&& content) {
    // Built over, not assigned: `out` is still nil, so there is nothing to let go.
    std::construct_at(&out, std::forward<T>(content));
    return true;
  }

  bool fail(std::string why, Code code = Code::invalid) {
    error_ = Error(code, std::move(why)).during("byte " + std::to_string(start_ - tree_.data()));
    return false;
  }

  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  const Buffer& tree_;
  const std::byte* at_;
  const std::byte* const end_;
  const std::byte* start_ = at_;  // Of the value being read: the place that errors name.
  const std::span<const Buffer> parts_;
  const Limits& limits_;

  std::size_t depth_ = 0;
  std::size_t values_ = 0;  // Claimed so far by lists and maps.
  std::size_t owed_ = 1;    // Claimed, but not begun.
  std::size_t next_part_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<Value> decode(const Buffer& tree, std::span<const Buffer> parts, const Limits& limits) {
  return Reader(tree, parts, limits).read_document();
}

}  // namespace muster::wire
