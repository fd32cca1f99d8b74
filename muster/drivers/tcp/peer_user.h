// Whose socket is at the other end of a connection on this host.

#pragma once

#include <optional>

#include <sys/types.h>

namespace muster::drivers::tcp {

// Who made the socket that `socket` is connected to. Nothing if the system does not say, as of
// one on another host.
std::optional<uid_t> user_of_peer(int socket);

}  // namespace muster::drivers::tcp
