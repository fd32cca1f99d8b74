#include "muster/drivers/zmq/address_plan.h"

#include <gtest/gtest.h>

namespace muster::drivers::zmq {
namespace {

Result<AddressPlan> plan(const char* text) { return plan_for(*net::Address::parse(text)); }

TEST(AddressPlan, EverythingIsEncryptedUnlessLoopbackIsToldNotTo) {
  for (const char* text : {"zmq://127.0.0.1:1", "zmq://[::1]:1", "zmq://localhost:1",
                           "zmq://10.0.0.7:1", "zmq://node-7:1", "zmq://0.0.0.0:0"}) {
    ASSERT_TRUE(plan(text)) << text;
    EXPECT_TRUE(plan(text)->is_encrypted) << text;
  }
  for (const char* text : {"zmq://127.0.0.1:1?curve=off", "zmq://127.8.9.1:1?curve=off",
                           "zmq://[::1]:1?curve=off", "zmq://localhost:1?curve=off"}) {
    ASSERT_TRUE(plan(text)) << text;
    EXPECT_FALSE(plan(text)->is_encrypted) << text;
  }
}

TEST(AddressPlan, NothingLeavesThisHostWithoutEncryption) {
  for (const char* text : {"zmq://10.0.0.7:1?curve=off", "zmq://0.0.0.0:1?curve=off",
                           "zmq://[::]:1?curve=off", "zmq://node-7:1?curve=off"}) {
    ASSERT_FALSE(plan(text)) << text;
    EXPECT_EQ(plan(text).error().code(), Code::unsupported) << text;
  }
}

TEST(AddressPlan, TheSecondPortIsReadAsItIsTold) {
  const auto with = plan("zmq://10.0.0.7:7000?also=7001");
  ASSERT_TRUE(with);
  EXPECT_EQ(with->second_port, 7001);
  EXPECT_EQ(options_of(*with), "also=7001");
  EXPECT_EQ(options_of({.is_encrypted = true, .second_port = 0}), "");
  EXPECT_EQ(options_of({.is_encrypted = false, .second_port = 0}), "curve=off");
}

TEST(AddressPlan, OtherOptionsAndSchemesAreRefused) {
  for (const char* text :
       {"zmq://127.0.0.1:1?tls=on", "zmq://127.0.0.1:1?also=", "zmq://127.0.0.1:1?also=0",
        "zmq://127.0.0.1:1?also=70000", "zmq://127.0.0.1:1?also=1x", "tcp://127.0.0.1:1"}) {
    ASSERT_FALSE(plan(text)) << text;
    EXPECT_EQ(plan(text).error().code(), Code::invalid) << text;
  }
}

}  // namespace
}  // namespace muster::drivers::zmq
