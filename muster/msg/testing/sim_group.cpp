#include "muster/msg/testing/sim_group.h"

#include <algorithm>
#include <utility>

#include "muster/base/check.h"

namespace muster::msg::testing {

SimGroup::SimGroup(const net::testing::SimOptions& options) : net(options), registry(net.loop()) {}

SimGroup::~SimGroup() {
  for (auto& [name, place] : elders_) remove(place);
  for (auto& [name, place] : there_) remove(place);
}

void SimGroup::remove(Place& place) {
  place.proxy.reset();
  const loop::Turn turn(net.loop());
  place.driver.reset();
}

Proxy& SimGroup::add(const std::string& name, const std::function<void(ProxyOptions&)>& tweak) {
  Place place;
  place.driver = net.driver(name);
  ProxyOptions options;
  options.group = "sim";
  options.name = name;
  options.type = name.substr(0, name.rfind('_'));
  options.registry = &registry;
  options.drivers = {place.driver.get()};
  options.token.assign(32, std::byte{7});
  options.listen = {"sim://" + name + "/" + std::to_string(++last_address_)};
  options.random = [this] { return net.chance(); };
  if (tweak) tweak(options);
  auto proxy = Proxy::start(net.loop(), std::move(options));
  MUSTER_CHECK(proxy.has_value(), proxy ? "" : proxy.error().message());
  place.proxy = *std::move(proxy);
  return *there_.insert_or_assign(name, std::move(place)).first->second.proxy;
}

Proxy& SimGroup::replace(const std::string& name, const std::function<void(ProxyOptions&)>& tweak) {
  elders_.emplace(name, std::move(there_.at(name)));
  there_.erase(name);
  return add(name, tweak);
}

std::vector<Proxy*> SimGroup::elders() const {
  std::vector<Proxy*> all;
  for (const auto& [name, place] : elders_) all.push_back(place.proxy.get());
  return all;
}

// With all processes of its host.
void SimGroup::crash(const std::string& name) {
  net.crash(name);
  const auto [first, last] = elders_.equal_range(name);
  for (auto elder = first; elder != last; ++elder) remove(elder->second);
  elders_.erase(first, last);
  registry.crash("sim", name);
  remove(there_.at(name));
  there_.erase(name);
  net.restart(name);
}

std::vector<std::string> SimGroup::names() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : there_) names.push_back(name);
  return names;
}

bool SimGroup::all_agree() {
  for (auto& [name, place] : there_) {
    for (auto& [other, its] : there_) {
      if (name == other) continue;
      const auto info = place.proxy->peer(other);
      if (!info || info->presence != Presence::here ||
          info->incarnation != its.proxy->incarnation()) {
        return false;
      }
    }
  }
  return true;
}

bool SimGroup::all_know_each_other() {
  for (auto& [name, place] : there_) {
    for (auto& [other, its] : there_) {
      if (name == other) continue;
      const auto info = place.proxy->peer(other);
      if (!info || info->presence == Presence::lost || info->presence == Presence::left ||
          info->incarnation != its.proxy->incarnation()) {
        return false;
      }
    }
  }
  return true;
}

bool SimGroup::settle(Duration limit) {
  return net.run_until([this] { return all_agree(); }, limit);
}

}  // namespace muster::msg::testing
