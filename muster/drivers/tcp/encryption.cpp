#include "muster/drivers/tcp/encryption.h"

#include <algorithm>

#include "muster/drivers/tcp/dialing.h"

namespace muster::drivers::tcp {

Result<bool> is_encrypted(const net::Address& address) {
  const auto known = addresses_without_asking(address);
  const bool is_loopback =
      !known.empty() && std::ranges::all_of(known, &SocketAddress::is_loopback);
  if (address.options == "tls=on") return true;
  if (address.options.empty()) return !is_loopback;
  if (address.options != "tls=off") {
    return Error(Code::invalid, "\"" + address.options + "\" is no option of tcp; there is tls=on");
  }
  if (is_loopback) return false;
  return Error(Code::unsupported, address.host +
                                      " is not a loopback address; beyond this host tcp goes "
                                      "nowhere without encryption");
}

}  // namespace muster::drivers::tcp
