#include "tests/ucx/subject.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "muster/base/check.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/net/token.h"
#include "muster/net/token_source.h"

namespace muster::drivers::ucx::testing {

std::unique_ptr<net::Driver> make_control(loop::Loop& loop) {
  auto tokens =
      *net::make_fixed_tokens({{1, std::vector<std::byte>(net::kTokenSize, std::byte{0x5A})}});
  return make_tcp_driver(loop, {.tls = {.tokens = std::move(tokens)}});
}

std::unique_ptr<net::Driver> make_ucx(loop::Loop& loop, const std::string& fabrics,
                                      UcxOptions options) {
  options.fabrics = fabrics;
  auto made = make_ucx_driver(loop, make_control(loop), std::move(options));
  MUSTER_CHECK(made.has_value(), "UCX has this fabric wherever the tests run");
  return *std::move(made);
}

}  // namespace muster::drivers::ucx::testing
