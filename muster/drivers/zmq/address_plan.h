// What an address asks of the zmq driver. Pure.

#pragma once

#include <cstdint>

#include "muster/base/result.h"
#include "muster/net/address.h"

namespace muster::drivers::zmq {

struct AddressPlan {
  bool is_encrypted = true;
  std::uint16_t second_port = 0;  // 0: not said.
};

// Code::invalid if it has another scheme or option, Code::unsupported if it
// asks for no encryption beyond loopback. A name is never taken for loopback,
// whatever it resolves to.
Result<AddressPlan> plan_for(const net::Address& address);

// The options of an address that was listened on.
std::string options_of(const AddressPlan& plan);

}  // namespace muster::drivers::zmq
