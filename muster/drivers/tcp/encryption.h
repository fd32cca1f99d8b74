// Which addresses are encrypted.

#pragma once

#include "muster/base/result.h"
#include "muster/net/address.h"

namespace muster::drivers::tcp {

// Whether connections at `address` are: all are, but for those at a numeric
// loopback address or localhost, and they are if it ends in ?tls=on. A name is
// never taken for loopback, whatever it resolves to.
//
// Code::unsupported if ?tls=off is asked for elsewhere, Code::invalid if the
// address has another option.
Result<bool> is_encrypted(const net::Address& address);

}  // namespace muster::drivers::tcp
