#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "muster/wire/bytes.h"
#include "muster/wire/value_codec.h"
#include "muster/wire/value_format.h"

namespace muster::wire {
namespace {

using internal::big_endian;
using internal::Extension;
using internal::Mark;

// Reads one document, front to back. What fails leaves its reason in error_ and
// returns false, all the way up: a Result per value would cost more than the value.
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
  bool check_size() {
    if (tree_.size() > limits_.max_bytes) return fail_limit("document", tree_.size(), "bytes", limits_.max_bytes);
    if (parts_.size() > limits_.max_parts) return fail_limit("document", parts_.size(), "parts", limits_.max_parts);
    return true;
  }

  bool check_end() {
    start_ = at_;
    if (at_ != end_) return fail(std::to_string(end_ - at_) + " bytes follow the document");
    if (next_part_ != parts_.size()) {
      return fail("the document ends without referring to part " + std::to_string(next_part_) + " of " + std::to_string(parts_.size()));
    }
    return true;
  }

  bool read(Value& out) {
    start_ = at_;
    std::uint8_t first = 0;
    if (!take(first)) return false;
    if (first < static_cast<std::uint8_t>(Mark::fix_map)) return set(out, first);
    if (first >= static_cast<std::uint8_t>(Mark::fix_negative)) return set(out, static_cast<std::int8_t>(first));
    if (first < static_cast<std::uint8_t>(Mark::fix_list)) return read_map(out, first & internal::kFixCount);
    if (first < static_cast<std::uint8_t>(Mark::fix_string)) return read_list(out, first & internal::kFixCount);
    if (first < static_cast<std::uint8_t>(Mark::nil)) return read_string(out, first & internal::kFixString);
    return read_marked(out, static_cast<Mark>(first));
  }
};

}  // namespace
}  // namespace muster::wire
