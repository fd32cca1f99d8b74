// What a TLS client says of its key: what is read has one form, and no room for
// anything else.

#include <cstdint>
#include <string_view>

#include "muster/base/check.h"
#include "muster/drivers/tcp/tls_identity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using muster::drivers::tcp::TlsIdentity;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto identity = TlsIdentity::parse(text);
  MUSTER_CHECK(!identity || identity->to_text() == text, "an identity has one form");
  return 0;
}
