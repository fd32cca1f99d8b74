// An address as a peer or a user writes it: what is read, written again, is read
// the same, and no driver's own rules for it trip.

#include <cstdint>
#include <string_view>

#include "muster/base/check.h"
#include "muster/drivers/tcp/encryption.h"
#include "muster/net/address.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<net::Address> address = net::Address::parse(text);
  if (!address) return 0;
  const Result<net::Address> again = net::Address::parse(address->to_string());
  MUSTER_CHECK(again && *again == *address, "an address has one form");
  static_cast<void>(drivers::tcp::is_encrypted(*address));
  return 0;
}
