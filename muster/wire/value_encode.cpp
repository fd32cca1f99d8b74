#include <bit>
#include <limits>
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

constexpr std::size_t kMaxCount = std::numeric_limits<std::uint32_t>::max();

// The first pass: how long the tree gets, and whether there may be one at all.
class Counter {
 public:
  explicit Counter(const EncodeOptions& options) : options_(options) {}

  void byte(std::uint8_t) { ++size_; }
  template <class T>
  void big(T) {
    size_ += sizeof(T);
  }
  template <class T>
  void little(T) {
    size_ += sizeof(T);
  }
  void raw(const void*, std::size_t size) { size_ += size; }

  bool takes(const Buffer& bytes) {
    if (bytes.size() < options_.out_of_band_from) return false;
    ++large_;
    return true;
  }
  std::uint32_t part(const Buffer&) { return parts_++; }

  bool enter(std::size_t values) {
    values_ += values;
    if (++depth_ > options_.limits.max_depth) {
      fail("lists and maps nested deeper than " + std::to_string(options_.limits.max_depth));
    } else if (values_ > options_.limits.max_values) {
      fail("more than " + std::to_string(options_.limits.max_values) + " values");
    }
    return !error_;
  }
  void leave() { --depth_; }
  void text(const std::string& text) {
    if (!is_utf8(text)) fail("a string that is not UTF-8; bytes may be sent as bytes");
  }
};

}
}
