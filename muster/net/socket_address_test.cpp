#include "muster/net/socket_address.h"

#include <gtest/gtest.h>

namespace muster::net {
namespace {

TEST(SocketAddress, ReadsNumericHostsOnly) {
  EXPECT_EQ(SocketAddress::parse("127.0.0.1", 70)->address().to_string(), "tcp://127.0.0.1:70");
  EXPECT_EQ(SocketAddress::parse("0:0::1", 70)->address().to_string(), "tcp://[::1]:70");
  EXPECT_FALSE(SocketAddress::parse("localhost", 70));
  EXPECT_FALSE(SocketAddress::parse("127.0.0.1.", 70));
  EXPECT_FALSE(SocketAddress::parse("", 70));
}

TEST(SocketAddress, KnowsLoopbackInAllItsForms) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(SocketAddress::parse(host, 1)->is_loopback()) << host;
  }
  for (const char* host : {"0.0.0.0", "126.255.255.255", "128.0.0.1", "10.127.0.1",
                           "::", "::ffff:10.0.0.1", "fe80::1", "127::1", "::127.0.0.1"}) {
    EXPECT_FALSE(SocketAddress::parse(host, 1)->is_loopback()) << host;
  }
}

TEST(SocketAddress, OfAllAddressesTellsOneThatOthersCanUse) {
  EXPECT_EQ(host_to_tell(*SocketAddress::parse("10.0.0.7", 70)), "10.0.0.7");
  EXPECT_EQ(host_to_tell(*SocketAddress::parse("127.0.0.1", 70)), "127.0.0.1");
  for (const char* all : {"0.0.0.0", "::"}) {
    const auto bound = SocketAddress::parse(all, 70);
    ASSERT_TRUE(bound->is_any());
    const auto told = SocketAddress::parse(host_to_tell(*bound), 70);
    ASSERT_TRUE(told);
    EXPECT_FALSE(told->is_any());
  }
}

TEST(SocketAddress, ComparesHostAndPort) {
  const auto address = SocketAddress::parse("127.0.0.1", 7);
  EXPECT_EQ(address, SocketAddress::parse("127.0.0.1", 7));
  EXPECT_NE(address, SocketAddress::parse("127.0.0.1", 8));
  EXPECT_NE(address, SocketAddress::parse("127.0.0.2", 7));
  EXPECT_NE(address, SocketAddress::parse("::1", 7));
}

}  // namespace
}  // namespace muster::net
