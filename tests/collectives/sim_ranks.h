// SimRanks: a communicator over a simulated network, under virtual time.
//
// Every rank has a host of its own, or shares the memory of a machine with others, and runs on a
// fiber, with the very code that threads run: it blocks, and time goes on when all do. A run with
// the same seed is the same run, event by event.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/arena/arena.h"
#include "muster/collectives/communicator.h"
#include "muster/loop/testing/fiber.h"
#include "muster/loop/timers.h"
#include "muster/loop/virtual_thread.h"
#include "muster/msg/testing/fake_registry.h"
#include "muster/net/testing/sim_net.h"

namespace muster::tests {

using namespace collectives;  // NOLINT(google-build-using-namespace): a test of it alone.

class SimRanks {
 public:
  using Tweak = std::function<void(CommunicatorOptions&)>;
  using Body = std::function<void(Rank, Communicator&)>;

  // All have joined. `machines`: where each of them runs; empty: all apart.
  SimRanks(Rank size, std::uint64_t seed, const Tweak& tweak = {}, bool keeps_transcript = false,
           const std::vector<int>& machines = {});
  ~SimRanks();
  SimRanks(const SimRanks&) = delete;
  SimRanks& operator=(const SimRanks&) = delete;

  Rank size() const { return static_cast<Rank>(members_.size()); }
  Communicator& operator[](Rank rank) { return *members_[rank]->communicator; }
  net::testing::SimNet& net() { return net_; }
  const std::string& host(Rank rank) const { return members_[rank]->host; }
  TimePoint now() const { return net_.now(); }

  // Runs `body` for every rank that lives, until all who then live have ended.
  // Before each event `before` is told its number. False if that takes more
  // than an hour of virtual time.
  [[nodiscard]] bool run(const Body& body, const std::function<void(std::uint64_t)>& before = {});
  // The same with two threads for each rank.
  [[nodiscard]] bool run_both(const Body& first, const Body& second,
                              const std::function<void(std::uint64_t)>& before = {});

  // One more host, on which nobody has joined: from now on run() calls `work` there. It is member
  // size() until then, and its rank will be the same if none is told.
  void add_newcomer(std::function<void()> work, std::optional<Rank> rank = std::nullopt);
  // As the newcomer that was added last, or as that one.
  Result<std::unique_ptr<Communicator>> join(const msg::Wait& wait);
  Result<std::unique_ptr<Communicator>> join(Rank newcomer, const msg::Wait& wait,
                                             const Tweak& tweak = {});

  // Its process dies: at once and with all that it had not delivered. Quietly:
  // the whole host, and nobody is told.
  void kill(Rank rank, bool quietly = false);
  bool is_alive(Rank rank) const { return members_[rank]->is_alive; }
  // Nothing reaches it, and nothing comes from it, until it is let go on.
  void stop(Rank rank);
  void let_go_on(Rank rank);
  // The same for `time`, and it does nothing itself, as after SIGSTOP.
  void freeze(Rank rank, Duration time);

 private:
  // One thread of a rank, and what it waits for.
  class Thread final : public loop::VirtualThread {
   public:
    Thread(SimRanks& ranks, loop::testing::Fiber& fiber) : ranks_(ranks), fiber_(fiber) {}
    bool wait_until(loop::Loop& loop, const std::function<bool()>& done,
                    TimePoint deadline) override;
    void start(std::function<void()> work) { fiber_.start(std::move(work)); }
    bool has_ended() const { return fiber_.has_ended(); }
    // Runs until it has to wait. False if it has to wait still.
    bool go_on();

   private:
    bool may_go_on() const;

    SimRanks& ranks_;
    loop::testing::Fiber& fiber_;
    const std::function<bool()>* done_ = nullptr;
    TimePoint deadline_{};
  };

  struct Member {
    Member(SimRanks& ranks, Rank index, Rank of);
    void start(std::function<void()> work) { first.start(std::move(work)); }
    bool has_ended() const { return first.has_ended() && second.has_ended(); }
    bool go_on();

    const Rank rank;  // That it joins as.
    Thread first;
    Thread second;
    std::string host;
    std::unique_ptr<net::Driver> driver;
    std::unique_ptr<Communicator> communicator;
    std::function<void()> own_work;  // Of a newcomer.
    bool is_alive = true;
    bool is_frozen = false;
    loop::Timer thaw;
  };

  // An arena for each host.
  class Memory final : public net::testing::SimMemory {
   public:
    Result<WritableBuffer> allocate(std::string_view host, std::size_t size) override;
    bool holds(const Buffer& part) const override;

   private:
    std::map<std::string, std::unique_ptr<arena::Arena>, std::less<>> arenas_;
  };

  void add_member(std::optional<Rank> rank = std::nullopt);
  CommunicatorOptions options(Rank member, const Tweak& tweak);
  void join_all(const Tweak& tweak);
  // Runs those whose life is `is_alive`; false if they have to wait still.
  bool go_on(bool is_alive, bool& is_over);
  bool run_all(bool is_alive, const std::function<void(std::uint64_t)>& before);

  Memory memory_;
  net::testing::SimNet net_;
  msg::testing::FakeRegistry registry_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace muster::tests
