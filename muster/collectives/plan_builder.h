// PlanBuilder: puts steps together. Private to the plan functions.
//
// They speak of a Team, of all ranks or of some (those of a host, the leaders
// of all hosts), and number its members from 0: so that plans can be composed.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "muster/collectives/plan.h"
#include "muster/collectives/shape.h"

namespace muster::collectives {

struct Team {
  std::vector<Rank> ranks;
  Rank me = 0;  // Which of them this rank is.

  Rank size() const { return static_cast<Rank>(ranks.size()); }
  // The member so many places after (before) this one, round and round.
  Rank after(Rank places) const { return (me + places) % size(); }
  Rank before(Rank places) const { return (me + size() - places % size()) % size(); }

  static Team all(const Shape& shape);
};

// The part of a slice that begins `offset` elements into it.
inline Slice part(const Slice& whole, std::uint64_t offset, std::uint64_t count) {
  return {whole.place, whole.offset + offset, count};
}
// Where block `i` of `blocks` lies in `whole`.
inline Slice part(const Slice& whole, const Blocks& blocks, Rank i) {
  return part(whole, blocks.offset(i), blocks.count(i));
}

// Cuts `count` elements into segments of `segment` (0: one). At least one.
class Segments {
 public:
  Segments(std::uint64_t count, std::uint64_t segment)
      : count_(count), segment_(segment == 0 || segment > count ? count : segment) {}

  std::uint64_t number() const { return segment_ == 0 ? 1 : (count_ + segment_ - 1) / segment_; }
  std::uint64_t largest() const { return segment_; }
  std::uint64_t offset(std::uint64_t i) const { return i * segment_; }
  std::uint64_t count(std::uint64_t i) const {
    if (i >= number()) return 0;
    return i + 1 < number() ? segment_ : count_ - offset(i);
  }
  Slice of(const Slice& whole, std::uint64_t i) const { return part(whole, offset(i), count(i)); }

 private:
  std::uint64_t count_;
  std::uint64_t segment_;
};

// For fetch() and combine(): what is written is not read again soon.
inline constexpr bool kStream = true;

class PlanBuilder {
 public:
  explicit PlanBuilder(bool has_finish) : has_finish_(has_finish) {}

  // Messages. Those of no elements are left out: both ends know that.
  void send(const Team& team, Rank to, const Slice& from);
  void receive(const Team& team, Rank from, const Slice& to);
  // `to` = `own` (op) the message; is_left: the message (op) `own`.
  void receive_reduce(const Team& team, Rank from, const Slice& own, const Slice& to, bool is_left);
  // A message of no elements.
  void send_token(const Team& team, Rank to);
  void receive_token(const Team& team, Rank from);
  // All sends but the last `kept` have left their slices.
  void settle(std::uint32_t kept = 0);

  void copy(const Slice& from, const Slice& to);
  void reduce(const Slice& from, const Slice& to, bool is_left);
  void finish(const Slice& to);
  // While held, combine() and finish() leave the finish to a later one.
  void hold_finish(bool is_held) { is_held_ = is_held; }

  // Phases are numbered from 1 within a plan function, which ends with
  // close_phases() of how many it has used, the same on all members.
  void publish(std::uint64_t phase);
  void wait(const Team& team, Rank member, std::uint64_t phase);
  void wait_all(const Team& team, std::uint64_t phase);
  void close_phases(std::uint64_t used) { phase_base_ += used; }
  void fetch(const Team& team, Rank member, const Slice& from, const Slice& to, bool is_stream);
  void combine(const Team& team, const Slice& from, const Slice& to, bool is_stream);

  // Fresh memory, apart from all before.
  Slice scratch(std::uint64_t count);
  Slice window(std::uint64_t count);
  // Others read the caller's memory.
  void expose() { plan_.is_exposed = true; }

  Plan take();

 private:
  Step& add(Step::Kind kind);
  std::uint32_t group_of(std::vector<Rank> ranks);

  Plan plan_;
  bool has_finish_;
  bool is_held_ = false;
  std::uint64_t phase_base_ = 0;
  std::uint32_t unsettled_ = 0;
};

}  // namespace muster::collectives
