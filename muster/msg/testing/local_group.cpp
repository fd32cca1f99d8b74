#include "muster/msg/testing/local_group.h"

#include <utility>

#include "muster/base/check.h"

namespace muster::msg::testing {

LocalGroup::LocalGroup(const MakeDriver& make_driver) {
  auto loop = loop::Loop::make();
  MUSTER_CHECK(loop.has_value(), "a test has descriptors left for a loop");
  loop_ = *std::move(loop);
  const loop::Turn turn(*loop_);
  driver_ = make_driver(*loop_);
  registry_ = std::make_unique<FakeRegistry>(*loop_);
}

LocalGroup::~LocalGroup() {
  const loop::Turn turn(*loop_);
  registry_.reset();
  driver_.reset();
}

ProxyOptions LocalGroup::options(const std::string& name) {
  ProxyOptions options;
  options.group = "local";
  options.name = name;
  options.type = name.substr(0, name.rfind('_'));
  options.registry = registry_.get();
  options.drivers = {driver_.get()};
  options.token.assign(32, std::byte{7});
  return options;
}

std::unique_ptr<Proxy> LocalGroup::start(const std::string& name) {
  auto proxy = Proxy::start(*loop_, options(name));
  MUSTER_CHECK(proxy.has_value(), proxy ? "" : proxy.error().message());
  return *std::move(proxy);
}

std::unique_ptr<Proxy> LocalGroup::join(ProxyOptions options, std::vector<Expected> expected) {
  options.expected = std::move(expected);
  auto proxy = Proxy::join(*loop_, std::move(options), std::chrono::seconds(20));
  MUSTER_CHECK(proxy.has_value(), proxy ? "" : proxy.error().message());
  return *std::move(proxy);
}

}  // namespace muster::msg::testing
