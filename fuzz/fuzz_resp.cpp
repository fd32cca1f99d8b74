// What Redis, or one in its place, says: read at once or in pieces, it means the same.

#include <cstdint>
#include <string_view>
#include <vector>

#include "muster/base/check.h"
#include "muster/registries/redis/layout.h"
#include "muster/registries/redis/resp.h"

using namespace muster;
using namespace muster::registries::redis;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const RespLimits limits{.line = 64, .text = 1024, .values = 64, .bytes = 4096, .depth = 4};
  std::vector<Reply> at_once;
  const bool is_good = RespReader(limits).feed(bytes, at_once).has_value();

  RespReader reader(limits);
  std::vector<Reply> piecewise;
  bool is_good_piecewise = true;
  for (std::size_t i = 0; i < size && is_good_piecewise; ++i) {
    is_good_piecewise = reader.feed(bytes.substr(i, 1), piecewise).has_value();
  }
  MUSTER_CHECK(at_once == piecewise, "pieces do not matter");
  MUSTER_CHECK(is_good == is_good_piecewise, "pieces do not matter for what is refused");
  for (const Reply& reply : at_once) {
    if (const auto roll = read_roll(reply)) {
      for (const Listed& listed : roll->listed) {
        MUSTER_CHECK(msg::check(listed.member).has_value(), "who is listed can be");
      }
    }
    (void)read_announced(reply);
  }
  return 0;
}
