#include "muster/drivers/tcp/tcp_shared.h"

#include <chrono>
#include <string>

#include "muster/drivers/tcp/encryption.h"

namespace muster::drivers::tcp {

Result<bool> TcpShared::encrypts(const net::Address& address) const {
  MUSTER_TRY(const bool encrypted, is_encrypted(address));
  if (encrypted && !tls) {
    return Error(tls.error().code(), "it needs encryption, and " + tls.error().message());
  }
  return encrypted;
}

void TcpShared::warn(std::string_view event, std::string_view detail) {
  const auto now =
      std::chrono::duration_cast<std::chrono::milliseconds>(loop.now().time_since_epoch());
  const int held_back = warnings.admit(now.count());
  if (held_back < 0) return;
  log::warning("tcp " + std::string(event) + "  " + std::string(detail) + "  held_back " +
               std::to_string(held_back));
}

}  // namespace muster::drivers::tcp
