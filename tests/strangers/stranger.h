// A stranger: a socket at one of the fortress's doors, and what it may say there.

#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/strangers/fortress.h"

namespace muster::strangers {

using Bytes = std::vector<std::byte>;
Bytes bytes_of(std::string_view text);
Bytes random_bytes(std::size_t size, std::uint64_t seed);

class Stranger {
 public:
  explicit Stranger(const net::Address& address);
  ~Stranger();
  Stranger(Stranger&& other) noexcept;
  Stranger& operator=(Stranger&&) = delete;

  // False if it has been dropped already.
  bool say(const Bytes& bytes) const;

  // Waits until the fortress hangs up; false if it does not in time. Sends all
  // that it hears back if `echoes`.
  bool is_dropped(std::chrono::milliseconds patience, bool echoes = false) const;

 private:
  int socket_;
};

// A TLS client's first message, which offers a key that is not the token's.
Bytes tls_hello(std::string_view identity);

// All that a member says to the fortress from its first byte until it is
// welcome, and what it is told: heard by somebody in between.
struct Overheard {
  Bytes said;
  Bytes answered;
};
Overheard overhear(const net::Address& address);

}  // namespace muster::strangers
