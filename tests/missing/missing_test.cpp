// What stands in for drivers whose library was missing when Muster was built.

#include <gtest/gtest.h>

#include "muster/drivers/ucx/ucx.h"
#include "muster/drivers/zmq/zmq.h"

namespace muster::drivers {
namespace {

struct Nobody final : net::Sink {
  void on_frame(wire::Frame&) override {}
  WritableBuffer place(const wire::Head&, std::size_t, std::uint64_t) override { return {}; }
  void on_room() override {}
  void on_closed(Error) override {}
};

void expect_advice(const Error& error, const std::string& package) {
  EXPECT_EQ(error.code(), Code::unsupported);
  EXPECT_NE(error.message().find(package), std::string::npos) << error.message();
}

TEST(Missing, TheZmqDriverSaysWhatToInstallWheneverItIsAskedForAnything) {
  const auto loop = *loop::Loop::make({.keeper = false});
  const auto driver = make_zmq_driver(*loop, {});
  const net::Address address = *net::Address::parse("zmq://127.0.0.1:7000");
  Nobody nobody;
  const loop::Turn turn(*loop);

  EXPECT_EQ(driver->scheme(), "zmq");
  expect_advice(check_zmq().error(), "libzmq3-dev");
  expect_advice(driver->dial(address, nobody).error(), "libzmq3-dev");
  expect_advice(driver->listen(address, [&](auto) -> net::Sink& { return nobody; }).error(),
                "libzmq3-dev");
}

TEST(Missing, TheUcxDriverSaysWhatToInstall) {
  const auto loop = *loop::Loop::make({.keeper = false});

  expect_advice(make_ucx_driver(*loop, make_zmq_driver(*loop, {})).error(), "libucx-dev");
  expect_advice(ucx_fabrics().error(), "libucx-dev");
}

}  // namespace
}  // namespace muster::drivers
