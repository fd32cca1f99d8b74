// How the driver's sockets are made.

#pragma once

#include "muster/base/result.h"
#include "muster/net/socket_address.h"

namespace muster::drivers::tcp {

using net::SocketAddress;

// A stream socket of `address`'s family that does not block and is set up to
// be fast; not yet bound or connected. What it accepts inherits all of it.
Result<int> make_socket(const SocketAddress& address);

// Closes `socket` so that the peer still gets what was sent to it.
void close_gently(int socket);

// True if the peer, on this host, last sent from the processor that this
// thread runs on: it can send no more while this thread keeps it.
bool peer_needs_this_processor(int socket);

}  // namespace muster::drivers::tcp
