// The ucx driver: frames over InfiniBand, RoCE and whatever else UCX knows.
//
// ucx://10.0.0.7:7000 names a place where processes meet: a connection of
// another driver, which proves both ends and stays open beside UCX for life. It
// carries the meeting and the end, and no byte of any frame. UCX itself is
// neither authenticated nor hardened: use it on fabrics that you trust, between
// processes that you trust (docs/reference/security.md).

#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "muster/base/clock.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"

namespace muster::drivers {

struct UcxOptions {
  // What UCX may use, in its own words, such as "posix,cma" or "rc_verbs,ud_verbs".
  // Empty: what UCX_TLS says, else all there is.
  std::string fabrics = {};
  // Where UCX listens, such as "mlx5_0:1" or "eth0". Empty: what UCX_NET_DEVICES
  // says, else "lo".
  std::string devices = {};
  // Asked of the driver that carries the meeting, so that it proves who is there.
  std::string control_options = "tls=on";
  // How long two ends may take to meet, once the control connection stands.
  Duration meeting_timeout = std::chrono::seconds(10);
  // A connection refuses frames while this many bytes wait to leave.
  std::size_t queue_limit = std::size_t{4} << 20;
};

// Any thread. The loop outlives the driver. `control` carries the meetings.
// Code::unsupported where Muster was built without UCX, or UCX finds nothing to use.
Result<std::unique_ptr<net::Driver>> make_ucx_driver(loop::Loop& loop,
                                                     std::unique_ptr<net::Driver> control,
                                                     UcxOptions options = {});

// What UCX finds on this machine with these options, for people: "posix", "tcp on
// lo", ... Code::unsupported as above.
Result<std::vector<std::string>> ucx_fabrics(const UcxOptions& options = {});

}  // namespace muster::drivers
