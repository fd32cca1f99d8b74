#include "muster/drivers/tcp/peer_user.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "muster/drivers/tcp/testing/socket_pair.h"

namespace muster::drivers::tcp {
namespace {

using testing::SocketPair;

TEST(PeerUser, IsWhoMadeTheOtherEnd) {
  const SocketPair sockets;
  EXPECT_EQ(user_of_peer(sockets.near.fd), geteuid());
  EXPECT_EQ(user_of_peer(sockets.far.get()), geteuid());
}

TEST(PeerUser, MayBeSomebodyElse) {
  if (geteuid() != 0) return;  // Only root can make sockets for others.
  constexpr uid_t kSomebody = 4711;
  const SocketPair sockets([](const auto& accept) {
    setfsuid(kSomebody);
    accept();
    setfsuid(0);
  });
  EXPECT_EQ(user_of_peer(sockets.near.fd), kSomebody);
  EXPECT_EQ(user_of_peer(sockets.far.get()), uid_t{0});
}

TEST(PeerUser, IsUnknownOfOneThatHasGone) {
  SocketPair sockets;
  sockets.far.reset();
  EXPECT_EQ(user_of_peer(sockets.near.fd), std::nullopt);
}

}  // namespace
}  // namespace muster::drivers::tcp
