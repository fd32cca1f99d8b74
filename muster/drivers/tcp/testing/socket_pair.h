// Two ends of a connection over loopback, for tests. Neither blocks.

#pragma once

#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "muster/base/descriptor.h"

namespace muster::drivers::tcp::testing {

struct SocketPair {
  // `accepting` is called around the making of the far end.
  explicit SocketPair(const std::function<void(const std::function<void()>&)>& accepting =
                          [](const auto& accept) { accept(); }) {
    const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener.get(), any, size), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    EXPECT_EQ(getsockname(listener.get(), any, &size), 0);
    near = Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(near.get(), any, size), 0);
    accepting([&] { far = Descriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)); });
    fcntl(near.get(), F_SETFL, O_NONBLOCK);
    fcntl(far.get(), F_SETFL, O_NONBLOCK);
  }

  Descriptor near;
  Descriptor far;
};

}  // namespace muster::drivers::tcp::testing
