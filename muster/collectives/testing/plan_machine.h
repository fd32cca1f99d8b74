// PlanMachine: runs the plans of all ranks in one thread, without a network,
// in an order of chance, and says what is wrong with them.
//
// Elements are numbers of 64 bits. Sends are never buffered: a message is read
// from its sender's memory when the receiver comes to take it, which is the
// worst that plan.h allows; or it lands long before, where Ahead allows that.
// Every access to every element is checked against
// those of other ranks with vector clocks, so that a pair of steps that is not
// kept apart is found in whatever order the two happened to run.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "muster/collectives/ahead.h"
#include "muster/collectives/plan.h"
#include "muster/collectives/shape.h"

namespace muster::collectives::testing {

using Number = std::uint64_t;
using Numbers = std::vector<Number>;

// How the machine reduces. `finish` is done by combine and finish steps.
struct Arithmetic {
  std::function<Number(Number, Number)> combine;
  std::function<Number(Number)> finish;
};

// Sums that wrap around.
Arithmetic sums();
// Composition of x -> a*x + b, which is associative but not commutative.
Arithmetic compositions();

// A rank's memory. If `same_memory`, input and result begin at the given
// elements of one buffer, else they are apart.
struct RankMemory {
  Numbers input;
  std::uint64_t result_count = 0;
  bool same_memory = false;
  std::uint64_t input_at = 0;
  std::uint64_t result_at = 0;
};

class PlanMachine {
 public:
  PlanMachine(std::vector<Plan> plans, std::vector<RankMemory> memory, Arithmetic arithmetic,
              std::uint64_t seed);

  // Nothing if all ranks came to their end by the rules; else what was broken.
  std::optional<std::string> run();

  Numbers result(Rank rank) const;
  // How many messages came before their step.
  std::uint64_t landed() const { return landed_; }

 private:
  using Clock = std::vector<std::uint32_t>;  // Of every rank, how far it was seen.

  struct Cell {
    Number value = 0;
    Rank writer = 0;
    std::uint32_t written = 0;  // By the writer's clock.
    Clock read;                 // By every rank's clock.
  };
  struct Message {
    Slice from;
    Clock sent;
    std::uint64_t index = 0;  // Among those to its receiver.
    bool has_landed = false;
    bool is_taken = false;
    Clock taken;  // The receiver's, after it.
  };
  struct Publication {
    std::uint32_t phase = 0;
    Clock clock;
  };
  struct Member {
    Plan plan;
    std::size_t next = 0;
    Clock clock;
    std::vector<Cell> cells;
    std::uint64_t input_at = 0, input_count = 0;
    std::uint64_t result_at = 0, result_count = 0;
    std::uint64_t scratch_at = 0;
    std::uint64_t window_at = 0;
    std::vector<Publication> published;
    std::deque<Message> sent;                      // All of them; settle looks back.
    std::map<Rank, std::deque<std::size_t>> mail;  // By receiver: which of `sent` wait.
    std::map<Rank, std::uint64_t> mailed;          // By receiver: how many there were.
    std::unique_ptr<Ahead> ahead;
    std::map<std::pair<Rank, std::uint64_t>, Slice> landings;  // By sender and index.
    bool is_done() const { return next == plan.steps.size(); }
  };

  bool can_step(const Member& member, Rank rank) const;
  void step(Rank rank);
  void do_step(Rank rank, const Step& step);
  void send(Rank rank, const Step& step);
  void receive(Rank rank, const Step& step);
  void look_ahead(Rank rank);
  // Messages that have a place, if chance wants it.
  void land_some(Rank rank);
  void land(Rank rank, const Slice& to, Message& message, Rank sender);
  void settle(Rank rank, std::uint32_t kept);
  void combine(Rank rank, const Step& step);
  void wait(Rank rank, const Step& step);
  const Publication* publication(const Member& member, std::uint32_t phase) const;
  void end(Rank rank);

  // The elements of a slice of `owner`, as `reader` reads and writes them.
  Numbers read(Rank reader, Rank owner, const Slice& slice, bool is_message = false);
  void write(Rank writer, const Slice& slice, const Numbers& values);
  std::optional<std::uint64_t> locate(const Member& owner, const Slice& slice) const;

  Rank pick(const std::vector<Rank>& ready);
  void fail(Rank rank, const std::string& what);
  static void join(Clock& clock, const Clock& other);

  std::vector<Member> members_;
  Arithmetic arithmetic_;
  std::mt19937_64 random_;
  std::optional<std::string> failure_;
  std::uint64_t landed_ = 0;
};

}  // namespace muster::collectives::testing
