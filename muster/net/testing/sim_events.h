// What a SimNet is going to do, in order, and the chance that decides it.

#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "muster/base/clock.h"
#include "muster/net/testing/pattern.h"

namespace muster::net::testing::internal {

// Numbers that follow from a seed.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(scramble(seed)) {}

  std::uint64_t next() { return scramble(state_++); }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  Duration between(Duration low, Duration high) {
    return low + Duration(below(static_cast<std::uint64_t>((high - low).count()) + 1));
  }
  bool happens(double probability) {
    return probability > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

 private:
  std::uint64_t state_;
};

class SimPipe;

struct SimEvent {
  enum class Kind : std::uint8_t {
    knock,    // A dial reaches the host that it is for.
    give_up,  // A dial has waited long enough.
    arrive,   // The oldest thing that `side` has sent reaches the other.
    end,      // `side` hears of its end.
  };
  TimePoint at;
  std::uint64_t number = 0;  // In the order they were planned: breaks ties.
  Kind kind = Kind::knock;
  int side = 0;
  std::shared_ptr<SimPipe> pipe;
};

class SimEvents {
 public:
  void plan(TimePoint at, SimEvent::Kind kind, int side, std::shared_ptr<SimPipe> pipe) {
    heap_.push({at, ++last_, kind, side, std::move(pipe)});
  }
  TimePoint next() const { return heap_.empty() ? kForever : heap_.top().at; }
  SimEvent take() {
    SimEvent event = heap_.top();
    heap_.pop();
    return event;
  }
  void clear() { heap_ = {}; }

 private:
  struct IsLater {
    bool operator()(const SimEvent& a, const SimEvent& b) const {
      return std::pair(a.at, a.number) > std::pair(b.at, b.number);
    }
  };
  std::priority_queue<SimEvent, std::vector<SimEvent>, IsLater> heap_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::net::testing::internal
