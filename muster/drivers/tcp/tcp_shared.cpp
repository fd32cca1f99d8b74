#include "muster/drivers/tcp/tcp_shared.h"

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
  complaints.warn(loop.now(), event, detail);
}

}  // namespace muster::drivers::tcp
