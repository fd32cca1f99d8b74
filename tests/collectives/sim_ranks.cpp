#include "tests/collectives/sim_ranks.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "muster/arena/shared_block.h"
#include "muster/base/check.h"

namespace muster::tests {
namespace {

using namespace std::chrono_literals;
using loop::testing::Fiber;

constexpr std::string_view kName = "sim";

// Stacks are made once: there are thousands of runs.
Fiber& fiber_of(Rank member, std::size_t thread) {
  static std::vector<std::unique_ptr<Fiber>> fibers;
  const std::size_t index = 2 * std::size_t{member} + thread;
  while (fibers.size() <= index) fibers.push_back(std::make_unique<Fiber>());
  return *fibers[index];
}

net::testing::SimOptions options_with(std::uint64_t seed, bool keeps_transcript) {
  net::testing::SimOptions options;
  options.seed = seed;
  options.keeps_transcript = keeps_transcript;
  return options;
}

}  // namespace

bool SimRanks::Thread::wait_until(loop::Loop& loop, const std::function<bool()>& done,
                                  TimePoint deadline) {
  done_ = &done;
  deadline_ = deadline;
  // Time does not jump over the deadline.
  loop::Timer alarm([] {});
  if (deadline != kForever) {
    const loop::Turn turn(loop);
    loop.start(alarm, deadline);
  }
  if (!may_go_on()) {
    loop::virtual_thread = nullptr;
    fiber_.pause();
    loop::virtual_thread = this;
  }
  const loop::Turn turn(loop);
  loop.stop(alarm);
  done_ = nullptr;
  return done();
}

bool SimRanks::Thread::may_go_on() const {
  if (done_ == nullptr) return true;
  const loop::Turn turn(ranks_.net_.loop());
  return (*done_)() || ranks_.now() >= deadline_;
}

bool SimRanks::Thread::go_on() {
  if (has_ended() || !may_go_on()) return false;
  loop::virtual_thread = this;
  fiber_.resume();
  loop::virtual_thread = nullptr;
  return true;
}

SimRanks::Member::Member(SimRanks& ranks, Rank index, Rank of)
    : rank(of),
      first(ranks, fiber_of(index, 0)),
      second(ranks, fiber_of(index, 1)),
      thaw([&ranks, index] { ranks.let_go_on(index); }) {}

bool SimRanks::Member::go_on() {
  if (is_frozen) return false;
  const bool has_moved = first.go_on();
  return second.go_on() || has_moved;
}

Result<WritableBuffer> SimRanks::Memory::allocate(std::string_view host, std::size_t size) {
  auto found = arenas_.find(host);
  if (found == arenas_.end()) {
    MUSTER_TRY(auto made, arena::Arena::make({.segment_size = std::size_t{8} << 20}));
    found = arenas_.emplace(host, std::move(made)).first;
  }
  return found->second->allocate(size);
}

bool SimRanks::Memory::holds(const Buffer& part) const {
  return arena::SharedBlock::of(part) != nullptr;
}

SimRanks::SimRanks(Rank size, std::uint64_t seed, const Tweak& tweak, bool keeps_transcript,
                   const std::vector<int>& machines)
    : net_(options_with(seed, keeps_transcript)), registry_(net_.loop()) {
  for (Rank rank = 0; rank < size; ++rank) add_member();
  for (Rank rank = 0; rank < machines.size(); ++rank) {
    for (Rank other = 0; other < rank; ++other) {
      if (machines[rank] == machines[other]) net_.share_memory(host(rank), host(other), memory_);
    }
  }
  join_all(tweak);
}

void SimRanks::add_member(std::optional<Rank> rank) {
  auto member = std::make_unique<Member>(*this, size(), rank.value_or(size()));
  member->host = "host_" + std::to_string(size());
  member->driver = net_.driver(member->host);
  members_.push_back(std::move(member));
}

void SimRanks::add_newcomer(std::function<void()> work, std::optional<Rank> rank) {
  add_member(rank);
  members_.back()->own_work = std::move(work);
}

Result<std::unique_ptr<Communicator>> SimRanks::join(const msg::Wait& wait) {
  return join(size() - 1, wait);
}

Result<std::unique_ptr<Communicator>> SimRanks::join(Rank newcomer, const msg::Wait& wait,
                                                     const Tweak& tweak) {
  return Communicator::join(net_.loop(), options(newcomer, tweak), wait);
}

// As it waits for those who may read its memory yet.
SimRanks::~SimRanks() {
  for (const bool is_alive : {true, false}) {
    for (const auto& member : members_) {
      if (member->is_alive != is_alive || !member->has_ended()) continue;
      member->start([&] { member->communicator.reset(); });
    }
    run_all(is_alive, {});
  }
  for (const auto& member : members_) member->communicator.reset();  // Of who hangs.
  const loop::Turn turn(net_.loop());
  for (const auto& member : members_) {
    net_.loop().stop(member->thaw);
    member->driver.reset();
  }
}

CommunicatorOptions SimRanks::options(Rank member, const Tweak& tweak) {
  CommunicatorOptions options;
  options.name = kName;
  options.size = size();
  options.rank = members_[member]->rank;
  options.registry = &registry_;
  options.drivers = {members_[member]->driver.get()};
  options.token.assign(32, std::byte{7});
  options.listen = {"sim://" + members_[member]->host + "/rank"};
  options.manners.deadline = 20s;
  options.id = {1, member + 1};
  if (tweak) tweak(options);
  return options;
}

void SimRanks::join_all(const Tweak& tweak) {
  for (Rank rank = 0; rank < size(); ++rank) {
    members_[rank]->start([this, rank, &tweak] {
      auto joined = Communicator::join(net_.loop(), options(rank, tweak), 60s);
      MUSTER_CHECK(joined.has_value(), joined ? "" : joined.error().message());
      members_[rank]->communicator = *std::move(joined);
    });
  }
  MUSTER_CHECK(run_all(true, {}), "all come to join");
}

bool SimRanks::run(const Body& body, const std::function<void(std::uint64_t)>& before) {
  return run_both(body, {}, before);
}

bool SimRanks::run_both(const Body& first, const Body& second,
                        const std::function<void(std::uint64_t)>& before) {
  for (Rank rank = 0; rank < size(); ++rank) {
    Member& member = *members_[rank];
    if (!member.is_alive) continue;
    if (member.own_work) {
      member.start(member.own_work);
      continue;
    }
    member.start([this, rank, &first] { first(rank, (*this)[rank]); });
    if (second) member.second.start([this, rank, &second] { second(rank, (*this)[rank]); });
  }
  const bool has_ended = run_all(true, before);
  // The dead are far from others by now. What they hold is given back.
  return run_all(false, {}) && has_ended;
}

bool SimRanks::go_on(bool is_alive, bool& is_over) {
  bool has_moved = false;
  is_over = true;
  for (const auto& member : members_) {
    if (member->is_alive != is_alive || member->has_ended()) continue;
    has_moved = member->go_on() || has_moved;
    is_over = is_over && member->has_ended();
  }
  return has_moved;
}

bool SimRanks::run_all(bool is_alive, const std::function<void(std::uint64_t)>& before) {
  const TimePoint limit = now() + 1h;
  std::uint64_t event = 0;
  for (bool is_over = false;;) {
    const bool has_moved = go_on(is_alive, is_over);
    if (is_over) return true;
    if (has_moved) continue;
    if (before) before(event++);
    if (!net_.step() || now() > limit) return false;
  }
}

void SimRanks::kill(Rank rank, bool quietly) {
  Member& member = *members_[rank];
  member.is_alive = false;
  if (quietly) return net_.switch_off(member.host);
  net_.crash(member.host);
  registry_.crash(kName, fmt::format("rank_{}_{:08x}", member.rank, rank + 1));
}

void SimRanks::stop(Rank rank) {
  for (Rank other = 0; other < size(); ++other) {
    if (other != rank) net_.part(members_[rank]->host, members_[other]->host);
  }
}

void SimRanks::let_go_on(Rank rank) {
  members_[rank]->is_frozen = false;
  for (Rank other = 0; other < size(); ++other) {
    if (other != rank) net_.join(members_[rank]->host, members_[other]->host);
  }
}

void SimRanks::freeze(Rank rank, Duration time) {
  members_[rank]->is_frozen = true;
  stop(rank);
  const loop::Turn turn(net_.loop());
  net_.loop().start(members_[rank]->thaw, now() + time);
}

}  // namespace muster::tests
