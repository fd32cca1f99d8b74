#include "muster/net/testing/sim_net.h"

#include <algorithm>
#include <utility>

#include "muster/base/check.h"
#include "muster/net/testing/sim_driver.h"
#include "muster/net/testing/sim_pipe.h"

namespace muster::net::testing {

using internal::SimHost;
using internal::SimPipe;
using internal::SimPlace;
using internal::SimWorld;

namespace {

std::unique_ptr<loop::Loop> make_loop(const Clock& clock) {
  auto made = loop::Loop::make({.clock = &clock, .keeper = false});
  MUSTER_CHECK(made.has_value(), "a test has descriptors left for a loop");
  return *std::move(made);
}

}  // namespace

struct SimNet::State {
  explicit State(const SimOptions& options)
      : loop(make_loop(clock)), world(options, *loop), own_chance(options.seed ^ 0x5EED) {}

  // Calls `deed` with each connection that still is, oldest first.
  template <class Deed>
  void for_each_pipe(Deed deed) {
    const std::vector<std::weak_ptr<SimPipe>> pipes = world.pipes;  // A sink may dial.
    for (const auto& known : pipes) {
      if (const std::shared_ptr<SimPipe> pipe = known.lock()) deed(*pipe);
    }
  }

  void take_down(std::string_view name, SimHost::Power power);

  ManualClock clock;
  std::unique_ptr<loop::Loop> loop;
  SimWorld world;
  internal::Chance own_chance;
};

SimNet::SimNet(const SimOptions& options) : state_(std::make_unique<State>(options)) {}

SimNet::~SimNet() {
  const loop::Turn turn(*state_->loop);
  state_->world.events.clear();
  state_->world.held_up.clear();
}

std::unique_ptr<Driver> SimNet::driver(std::string_view host) {
  const loop::Turn turn(*state_->loop);
  SimWorld& world = state_->world;
  const SimPlace place{world.host_number(host), world.host(host).incarnation};
  return std::make_unique<internal::SimDriver>(world, place);
}

loop::Loop& SimNet::loop() { return *state_->loop; }

TimePoint SimNet::now() const { return state_->clock.now(); }

bool SimNet::step() {
  loop::Loop& loop = *state_->loop;
  while (loop.run_ready()) {
  }
  const loop::Turn turn(loop);
  SimWorld& world = state_->world;
  const TimePoint next = std::min(world.events.next(), loop.next_timer());
  if (next == kForever) return false;
  if (next > now()) state_->clock.set(next);
  // Timers are run by the next step, or by whoever looks first.
  if (world.events.next() <= now()) world.run_event();
  return true;
}

bool SimNet::run_until(const std::function<bool()>& done, Duration limit) {
  const TimePoint deadline = now() + limit;
  const auto is_done = [&] {
    const loop::Turn turn(*state_->loop);
    return done();
  };
  while (!is_done()) {
    if (now() > deadline || !step()) {
      while (state_->loop->run_ready()) {
      }
      return is_done();
    }
  }
  return true;
}

void SimNet::run_for(Duration time) {
  const TimePoint until = now() + time;
  const auto next = [this] {
    while (state_->loop->run_ready()) {
    }
    const loop::Turn turn(*state_->loop);
    return std::min(state_->world.events.next(), state_->loop->next_timer());
  };
  while (next() <= until) step();
  state_->clock.set(until);
}

void SimNet::stall(Duration time) {
  state_->world.note("are stopped", "all");
  state_->clock.advance(time);
  run_for(Duration::zero());
}

void SimNet::part(std::string_view a, std::string_view b, Dials dials) {
  const loop::Turn turn(*state_->loop);
  SimWorld& world = state_->world;
  world.note("parted", std::string(a) + "|" + std::string(b));
  world.parted[SimWorld::pair_of(world.host_number(a), world.host_number(b))] = dials;
}

void SimNet::join(std::string_view a, std::string_view b) {
  const loop::Turn turn(*state_->loop);
  SimWorld& world = state_->world;
  world.note("joined", std::string(a) + "|" + std::string(b));
  world.parted.erase(SimWorld::pair_of(world.host_number(a), world.host_number(b)));
  world.release();
}

void SimNet::block_dials(std::string_view from, std::string_view to, Dials dials) {
  const loop::Turn turn(*state_->loop);
  SimWorld& world = state_->world;
  world.note("cannot be dialled by " + std::string(from), to);
  world.blocked[{world.host_number(from), world.host_number(to)}] = dials;
}

void SimNet::allow_dials(std::string_view from, std::string_view to) {
  const loop::Turn turn(*state_->loop);
  SimWorld& world = state_->world;
  world.note("can be dialled by " + std::string(from), to);
  world.blocked.erase({world.host_number(from), world.host_number(to)});
}

void SimNet::break_connections(std::string_view a, std::string_view b) {
  const loop::Turn turn(*state_->loop);
  const int first = state_->world.host_number(a);
  const int second = state_->world.host_number(b);
  state_->for_each_pipe([&](SimPipe& pipe) {
    if (pipe.is_between(first, second)) pipe.break_off("the network lost the connection");
  });
}

void SimNet::State::take_down(std::string_view name, SimHost::Power power) {
  const loop::Turn turn(*loop);
  const SimPlace place{world.host_number(name), world.host(name).incarnation};
  world.hosts[place.host].power = power;
  std::erase_if(world.listeners, [&](const auto& listener) {
    return listener.first.starts_with(std::string(name) + "/");
  });
  for_each_pipe([&](SimPipe& pipe) {
    for (const int side : {0, 1}) {
      if (pipe.has_end_in(place, side)) pipe.kill(side, power == SimHost::Power::crashed);
    }
  });
}

void SimNet::crash(std::string_view host) {
  state_->world.note("crashes", host);
  state_->take_down(host, SimHost::Power::crashed);
}

void SimNet::switch_off(std::string_view host) {
  state_->world.note("is switched off", host);
  state_->take_down(host, SimHost::Power::off);
}

void SimNet::restart(std::string_view name) {
  const loop::Turn turn(*state_->loop);
  SimWorld& world = state_->world;
  SimHost& host = world.host(name);
  if (host.power == SimHost::Power::on) crash(name);
  world.note("restarts", name);
  const SimPlace old{world.host_number(name), host.incarnation++};
  host.power = SimHost::Power::on;
  host.is_reading = true;
  state_->for_each_pipe([&](SimPipe& pipe) {
    for (const int side : {0, 1}) {
      if (pipe.has_end_in(old, side)) pipe.disown(side);
    }
  });
  world.release();
}

void SimNet::share_memory(std::string_view a, std::string_view b, SimMemory& memory) {
  const loop::Turn turn(*state_->loop);
  SimWorld& world = state_->world;
  world.shared[SimWorld::pair_of(world.host_number(a), world.host_number(b))] = &memory;
}

void SimNet::set_reading(std::string_view host, bool is_reading) {
  const loop::Turn turn(*state_->loop);
  state_->world.note(is_reading ? "reads" : "stops reading", host);
  state_->world.host(host).is_reading = is_reading;
  if (is_reading) state_->world.release();
}

void SimNet::set_pace(std::string_view host, Duration pace) {
  state_->world.host(host).pace = pace;
}

std::size_t SimNet::open_ends() const { return state_->world.open_ends; }

std::uint64_t SimNet::chance() { return state_->own_chance.next(); }

const std::vector<std::string>& SimNet::transcript() const { return state_->world.transcript; }

std::uint64_t SimNet::digest() const { return state_->world.digest; }

}  // namespace muster::net::testing
