#include "muster/net/testing/sim_world.h"

#include <cstdio>

#include "muster/net/testing/sim_pipe.h"

namespace muster::net::testing::internal {

SimWorld::SimWorld(const SimOptions& given, loop::Loop& its_loop)
    : options(given), loop(its_loop), chance(given.seed), start_(its_loop.now()) {}

int SimWorld::host_number(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const int number = static_cast<int>(hosts.size());
  numbers_.emplace(name, number);
  hosts.emplace_back().name = name;
  return number;
}

SimHost& SimWorld::host(std::string_view name) { return hosts[host_number(name)]; }

bool SimWorld::is_alive(SimPlace place) const {
  const SimHost& host = hosts[place.host];
  return host.power == SimHost::Power::on && host.incarnation == place.incarnation;
}

void SimWorld::add(const std::shared_ptr<SimPipe>& pipe) {
  if (pipes.size() >= 2 * living_pipes_ + 16) {
    std::erase_if(pipes, [](const auto& known) { return known.expired(); });
    living_pipes_ = pipes.size();
  }
  pipes.push_back(pipe);
}

void SimWorld::run_event() {
  SimEvent event = events.take();
  SimPipe& pipe = *event.pipe;
  switch (event.kind) {
    case SimEvent::Kind::knock: {
      const std::pair way(pipe.place(0).host, pipe.place(1).host);
      if (const auto wall = blocked.find(way); wall != blocked.end()) {
        if (wall->second == Dials::fail) pipe.refuse("no way in");
        return;  // It gives up by itself.
      }
      const auto cut = parted.find(pair_of(way.first, way.second));
      if (cut == parted.end()) return pipe.knock();
      if (cut->second == Dials::fail) return pipe.refuse("no way to that host");
      return held_up.push_back(std::move(event));
    }
    case SimEvent::Kind::give_up: return pipe.give_up();
    case SimEvent::Kind::arrive:
      if (pipe.is_held_up(event.side)) return held_up.push_back(std::move(event));
      return pipe.arrive(event.side);
    case SimEvent::Kind::end: return pipe.tell_end(event.side);
  }
}

void SimWorld::release() {
  // Those that must still wait come back here when they are due.
  for (SimEvent& event : std::exchange(held_up, {})) {
    events.plan(now() + delay(), event.kind, event.side, std::move(event.pipe));
  }
}

void SimWorld::note(const char* what, const SimPipe& pipe, int from, std::uint64_t amount) {
  const auto ticks = static_cast<std::uint64_t>((now() - start_).count());
  digest = scramble(digest ^ ticks) + pipe.number() * 8 + what[0] * 2 + from + amount;
  if (options.keeps_transcript) {
    write(pipe.name(from) + " " + what + (amount > 0 ? " " + std::to_string(amount) : ""));
  }
}

void SimWorld::note(const std::string& what, std::string_view whom) {
  if (options.keeps_transcript) write(std::string(whom) + " " + what);
}

void SimWorld::write(const std::string& line) {
  char stamp[32];
  const auto ticks = std::chrono::duration_cast<std::chrono::nanoseconds>(now() - start_).count();
  std::snprintf(stamp, sizeof stamp, "%12.6f ms  ", static_cast<double>(ticks) / 1e6);
  transcript.push_back(stamp + line);
}

}  // namespace muster::net::testing::internal
