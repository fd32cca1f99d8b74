#include "muster/net/address.h"

#include <gtest/gtest.h>

namespace muster::net {
namespace {

TEST(Address, ReadsAndWritesEveryForm) {
  for (const char* text : {"tcp://127.0.0.1:7000", "tcp://[::1]:7000", "tcp://h1:7000-7100",
                           "shm://learner", "inproc://a/b", "ucx://10.0.0.7:7000",
                           "tcp://localhost:0", "tcp://[::1]:0?tls=on", "tcp://h1:70-71?tls=on"}) {
    const Result<Address> address = Address::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->to_string(), text);
  }
}

TEST(Address, RefusesWhatItCannotReadAndSaysWhy) {
  for (const char* text :
       {"", "tcp", "://x", "tcp://", "tcp://h", "tcp://:1", "tcp://h:x",
        "tcp://h:", "tcp://h:70000", "tcp://[::1:1", "tcp://::1:80", "tcp://h:9-3", "shm://",
        "tcp://h:9?", "tcp://h?tls=on", "tcp://?tls=on", "tcp://[[1]:0", "tcp://a]:1"}) {
    const Result<Address> address = Address::parse(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code(), Code::invalid);
    EXPECT_NE(address.error().message().find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::net
