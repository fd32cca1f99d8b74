// An address: which driver, and where. "tcp://127.0.0.1:7000", "shm://learner",
// "inproc://a", "tcp://[::1]:7000-7100", "tcp://localhost:0?tls=on".

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muster/base/result.h"

namespace muster::net {

struct Address {
  std::string scheme;
  std::string host;  // A name where the scheme has no hosts. IPv6 without brackets.
  // The port, or the first of a range; 0: any, or the scheme has none.
  std::uint16_t port = 0;
  std::uint16_t last_port = 0;  // Of a range, else equal to `port`.
  // For the driver, such as "tls=on"; only where the scheme has ports.
  std::string options = {};

  // Code::invalid says what is wrong with `text`.
  static Result<Address> parse(std::string_view text);
  std::string to_string() const;

  friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace muster::net
