#include "muster/drivers/tcp/encryption.h"

#include <gtest/gtest.h>

namespace muster::drivers::tcp {
namespace {

Result<bool> encrypted(const char* address) { return is_encrypted(*net::Address::parse(address)); }

TEST(Encryption, IsForAllButLoopbackUnlessTheAddressAsksForIt) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "[::1]", "localhost", "[::ffff:127.0.0.1]"}) {
    const std::string address = "tcp://" + std::string(host) + ":7";
    EXPECT_FALSE(*encrypted(address.c_str())) << address;
    EXPECT_FALSE(*encrypted((address + "?tls=off").c_str())) << address;
    EXPECT_TRUE(*encrypted((address + "?tls=on").c_str())) << address;
  }
}

TEST(Encryption, CannotBeSwitchedOffBeyondLoopback) {
  for (const char* host : {"0.0.0.0", "[::]", "192.0.2.1", "[2001:db8::1]", "[::ffff:192.0.2.1]",
                           "node-7", "localhost.", "127.0.0.1.example"}) {
    const std::string address = "tcp://" + std::string(host) + ":7";
    EXPECT_TRUE(*encrypted(address.c_str())) << address;
    EXPECT_TRUE(*encrypted((address + "?tls=on").c_str())) << address;
    EXPECT_EQ(encrypted((address + "?tls=off").c_str()).error().code(), Code::unsupported)
        << address;
  }
}

TEST(Encryption, OtherOptionsAreInvalid) {
  for (const char* options : {"tls", "tls=ON", "tls=on&tls=off", "x"}) {
    const std::string address = std::string("tcp://127.0.0.1:7?") + options;
    EXPECT_EQ(encrypted(address.c_str()).error().code(), Code::invalid) << address;
  }
}

}  // namespace
}  // namespace muster::drivers::tcp
