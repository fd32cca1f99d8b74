// Members of other hosts, by way of a gateway: over loopback, but with nothing
// else of one host's.

#include <gtest/gtest.h>

#include "muster/base/check.h"
#include "muster/drivers/tcp/tcp.h"
#include "muster/msg/testing/registry_suite.h"
#include "muster/net/testing/link_end.h"
#include "muster/registries/embedded/embedded.h"
#include "muster/registries/embedded/remote.h"
#include "muster/registries/embedded/testing/test_folder.h"

namespace muster::msg::testing {
namespace {

using registries::RegistryGateway;
using registries::embedded::TestFolder;

net::EndpointOptions links(net::Driver& driver) {
  net::EndpointOptions options;
  options.token = net::testing::token();
  options.name = "registry";
  options.drivers = {&driver};
  return options;
}

// A gateway, on a loop of its own that its keeper drives.
class GatewayWorld final : public RegistryWorld {
 public:
  GatewayWorld() : loop_(*loop::Loop::make()), driver_(drivers::make_tcp_driver(*loop_)) {
    repair();
  }
  ~GatewayWorld() override {
    break_down();
    const loop::Turn turn(*loop_);
    driver_.reset();
  }
  std::string whereabouts() const override { return address_.to_string(); }
  void break_down() override {
    const loop::Turn turn(*loop_);
    gateway_.reset();
  }
  void repair() override {
    const loop::Turn turn(*loop_);
    auto made = registries::make_registry_gateway(*loop_, {.links = links(*driver_),
                                                           .addresses = {address_},
                                                           .embedded = {.folder = folder_.path()}});
    MUSTER_CHECK(made.has_value(), "a gateway can listen on loopback");
    gateway_ = *std::move(made);
    address_ = gateway_->addresses().front();
  }
  const std::string& folder() const { return path_; }

 private:
  TestFolder folder_;
  std::string path_ = folder_.path();
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<net::Driver> driver_;
  net::Address address_ = *net::Address::parse("tcp://127.0.0.1:0");
  std::unique_ptr<RegistryGateway> gateway_;
};

// With the driver that it needs.
class RemoteWithDriver final : public Registry {
 public:
  RemoteWithDriver(loop::Loop& loop, const std::string& gateway)
      : driver_(drivers::make_tcp_driver(loop)) {
    auto made = registries::make_remote_registry(
        loop, {.links = links(*driver_), .gateways = {*net::Address::parse(gateway)}});
    MUSTER_CHECK(made.has_value(), "a remote registry needs a gateway's address alone");
    registry_ = *std::move(made);
  }
  Result<std::unique_ptr<Membership>> join(const JoinRequest& request,
                                           RegistrySink& sink) override {
    return registry_->join(request, sink);
  }
  Result<std::unique_ptr<Inquiry>> ask(const std::string& group, OnRoll done) override {
    return registry_->ask(group, std::move(done));
  }

 private:
  std::unique_ptr<net::Driver> driver_;
  std::unique_ptr<Registry> registry_;
};

RegistrySubject remote() {
  return {.name = "remote",
          .make_world = [] { return std::make_unique<GatewayWorld>(); },
          .make_registry =
              [](loop::Loop& loop, const std::string& whereabouts) {
                return std::make_unique<RemoteWithDriver>(loop, whereabouts);
              },
          .knows_at_once = false};
}

MUSTER_REGISTRY_SUITE(Remote, remote());

TEST(RegistryGateway, ThoseOfItsHostAndOfOthersAreOneGroup) {
  const GatewayWorld world;
  const auto loop = *loop::Loop::make();
  std::unique_ptr<Registry> near;
  std::unique_ptr<Registry> far;
  {
    const loop::Turn turn(*loop);
    near = registries::make_embedded_registry(*loop, {.folder = world.folder()});
    far = std::make_unique<RemoteWithDriver>(*loop, world.whereabouts());
  }
  Component a(*loop, std::move(near), request_for("g", "near"));
  Component b(*loop, std::move(far), request_for("g", "far"));
  const auto soon = [&] { return loop->now() + std::chrono::seconds(30); };
  ASSERT_TRUE(
      loop->wait_until([&] { return a.knows("far") == 1 && b.knows("near") == 1; }, soon()));
  b.leave();
  EXPECT_TRUE(loop->wait_until([&] { return b.is_ended() && a.has("left far/1"); }, soon()));
}

TEST(RegistryGateway, WhoDoesNotKnowTheTokenIsNotLetIn) {
  const GatewayWorld world;
  const auto loop = *loop::Loop::make();
  std::unique_ptr<net::Driver> driver;
  std::unique_ptr<Registry> registry;
  {
    const loop::Turn turn(*loop);
    driver = drivers::make_tcp_driver(*loop);
    net::EndpointOptions options = links(*driver);
    options.token.front() ^= std::byte{1};
    registry = *registries::make_remote_registry(
        *loop,
        {.links = std::move(options), .gateways = {*net::Address::parse(world.whereabouts())}});
  }
  {
    Component a(*loop, std::move(registry), request_for("g", "a"));
    EXPECT_TRUE(loop->wait_until([&] { return a.has("unreachable"); },
                                 loop->now() + std::chrono::seconds(30)));
    EXPECT_EQ(a.admissions(), 0);
  }
  const loop::Turn turn(*loop);
  driver.reset();
}

}  // namespace
}  // namespace muster::msg::testing
