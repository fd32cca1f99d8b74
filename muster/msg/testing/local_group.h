// LocalGroup: components of one group in this process, on one real loop.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "muster/loop/loop.h"
#include "muster/msg/proxy.h"
#include "muster/msg/testing/fake_registry.h"
#include "muster/net/driver.h"

namespace muster::msg::testing {

class LocalGroup {
 public:
  using MakeDriver = std::function<std::unique_ptr<net::Driver>(loop::Loop&)>;

  explicit LocalGroup(const MakeDriver& make_driver);
  ~LocalGroup();
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;

  // Options for NAME, of the type that stands before its last '_'.
  ProxyOptions options(const std::string& name);
  // Does not wait for anybody.
  std::unique_ptr<Proxy> start(const std::string& name);
  // Waits for those expected. What fails fails the test.
  std::unique_ptr<Proxy> join(ProxyOptions options, std::vector<Expected> expected);
  std::unique_ptr<Proxy> join(const std::string& name, std::vector<Expected> expected) {
    return join(options(name), std::move(expected));
  }

  loop::Loop& loop() { return *loop_; }
  FakeRegistry& registry() { return *registry_; }

 private:
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<net::Driver> driver_;
  std::unique_ptr<FakeRegistry> registry_;
};

}  // namespace muster::msg::testing
