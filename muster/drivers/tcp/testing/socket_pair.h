// Two ends of a connection over loopback, for tests. Neither blocks.

#pragma once

#include <functional>

#include <fcntl.h>
#include <sys/socket.h>

#include "muster/base/descriptor.h"
#include "muster/drivers/tcp/testing/plain_socket.h"

namespace muster::drivers::tcp::testing {

struct SocketPair {
  // `accepting` is called around the making of the far end.
  explicit SocketPair(const std::function<void(const std::function<void()>&)>& accepting =
                          [](const auto& accept) { accept(); }) {
    const PlainSocket listener;
    near.connect_to(listener.listen_with(1));
    accepting([&] { far = Descriptor(accept4(listener.fd, nullptr, nullptr, SOCK_CLOEXEC)); });
    fcntl(near.fd, F_SETFL, O_NONBLOCK);
    fcntl(far.get(), F_SETFL, O_NONBLOCK);
  }

  PlainSocket near;
  Descriptor far;
};

}  // namespace muster::drivers::tcp::testing
