// SimGroup: components of one group on hosts of a SimNet, under virtual time.
//
// One component per host, both of the same name. Proxies here are driven from
// outside: only their calls that do not wait may be used.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "muster/msg/proxy.h"
#include "muster/msg/testing/fake_registry.h"
#include "muster/net/testing/sim_net.h"

namespace muster::msg::testing {

class SimGroup {
 public:
  explicit SimGroup(const net::testing::SimOptions& options = {});
  ~SimGroup();
  SimGroup(const SimGroup&) = delete;
  SimGroup& operator=(const SimGroup&) = delete;

  // Starts NAME, of the type that stands before its last '_'.
  Proxy& add(const std::string& name, const std::function<void(ProxyOptions&)>& tweak = nullptr);
  // Starts another process under NAME while one lives, which becomes an elder.
  Proxy& replace(const std::string& name,
                 const std::function<void(ProxyOptions&)>& tweak = nullptr);
  // Those who were replaced and have not crashed.
  std::vector<Proxy*> elders() const;
  // Its process dies, and both kernel and registry tell.
  void crash(const std::string& name);
  Proxy& operator[](const std::string& name) { return *there_.at(name).proxy; }
  bool has(const std::string& name) const { return there_.contains(name); }
  std::vector<std::string> names() const;

  // Until all see all others here.
  [[nodiscard]] bool settle(Duration limit = std::chrono::seconds(30));
  bool all_agree();
  // The same, though links may still be missing.
  bool all_know_each_other();
  [[nodiscard]] bool run_until(const std::function<bool()>& done,
                               Duration limit = std::chrono::seconds(30)) {
    return net.run_until(done, limit);
  }

  net::testing::SimNet net;
  FakeRegistry registry;

 private:
  struct Place {
    std::unique_ptr<net::Driver> driver;
    std::unique_ptr<Proxy> proxy;
  };
  void remove(Place& place);

  std::map<std::string, Place> there_;
  std::multimap<std::string, Place> elders_;
  int last_address_ = 0;
};

}  // namespace muster::msg::testing
