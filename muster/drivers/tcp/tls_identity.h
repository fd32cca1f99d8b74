// TlsIdentity: what a client says of the pre-shared key it offers. Pure.
//
// The key itself is of the whole cluster, so that a member's own hello, sent
// back to it, would be believed (RFC 9257, section 4.1). So the identity names
// who offers the key, and as what.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "muster/base/id.h"
#include "muster/net/proof.h"
#include "muster/net/token.h"

namespace muster::drivers::tcp {

struct TlsIdentity {
  std::uint32_t generation = 0;  // Of the token.
  Id sender;                     // Of the driver, drawn at random.

  // "muster 1 client g2 0123..."; always of the client's role, since servers
  // offer nothing.
  std::string to_text() const;
  // Nothing if `text` is of another form or role.
  static std::optional<TlsIdentity> parse(std::string_view text);

  friend bool operator==(const TlsIdentity&, const TlsIdentity&) = default;
};

// The pre-shared key that a token stands for.
net::Key tls_key(const net::Token& token);

}  // namespace muster::drivers::tcp
