// What all drivers and connections of a SimNet share: hosts, time, chance.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"
#include "muster/net/testing/sim_events.h"
#include "muster/net/testing/sim_net.h"

namespace muster::net::testing::internal {

class SimListener;

// A process: a host, and which of those that have run there.
struct SimPlace {
  int host = 0;
  int incarnation = 0;
};

struct SimHost {
  enum class Power : std::uint8_t { on, crashed, off };
  std::string name;
  int incarnation = 0;
  Power power = Power::on;
  bool is_reading = true;
  Duration pace{0};
};

class SimWorld {
 public:
  SimWorld(const SimOptions& given, loop::Loop& its_loop);

  SimHost& host(std::string_view name);
  int host_number(std::string_view name);
  bool is_alive(SimPlace place) const;
  bool is_parted(int a, int b) const { return !parted.empty() && parted.contains(pair_of(a, b)); }
  // Null: there is none.
  SimMemory* memory_between(int a, int b) const {
    const auto found = shared.find(pair_of(a, b));
    return found != shared.end() ? found->second : nullptr;
  }
  static std::pair<int, int> pair_of(int a, int b) { return std::minmax(a, b); }

  Duration delay() { return chance.between(options.min_delay, options.max_delay); }
  TimePoint now() const { return loop.now(); }

  void add(const std::shared_ptr<SimPipe>& pipe);
  // Runs the event that is due next.
  void run_event();
  // Has what was held up tried again.
  void release();
  // Notes that something happened to `pipe`.
  void note(const char* what, const SimPipe& pipe, int from, std::uint64_t amount = 0);
  void note(const std::string& what, std::string_view whom);

  const SimOptions options;
  loop::Loop& loop;
  Chance chance;
  SimEvents events;
  std::vector<SimHost> hosts;
  std::map<std::pair<int, int>, Dials> parted;
  std::map<std::pair<int, int>, Dials> blocked;  // By who dials whom.
  std::map<std::pair<int, int>, SimMemory*> shared;
  std::map<std::string, SimListener*> listeners;  // By host/name.
  std::vector<SimEvent> held_up;                  // In the order they were due.
  std::vector<std::weak_ptr<SimPipe>> pipes;
  int last_pipe = 0;
  std::size_t open_ends = 0;
  std::vector<std::string> transcript;
  std::uint64_t digest = 0;

 private:
  void write(const std::string& line);

  const TimePoint start_;
  std::map<std::string, int, std::less<>> numbers_;
  std::size_t living_pipes_ = 0;
};

}  // namespace muster::net::testing::internal
