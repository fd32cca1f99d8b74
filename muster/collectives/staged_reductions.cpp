// Reductions on one host, through the windows. One barrier per segment: with
// phase i+1 a member says that segment i of its input lies in its cell and that
// its share of segment i-1 is reduced; to come there it has done with all that
// lay in the cells before.
#include <algorithm>
#include <array>

#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

// What reduce and all_reduce have in common. Who takes the shares gets all of
// the result.
class StagedShares {
 public:
  StagedShares(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
               const Method& method)
      : b_(b),
        team_(team),
        in_(in),
        out_(out),
        grain_(method.grain),
        segments_(in.count, method.segment) {
    for (Slice& cell : inputs_) cell = b.window(segments_.largest());
    const std::uint64_t share = shares(0).largest();
    for (Slice& cell : reduced_) cell = b.window(share);
  }

  void add_steps(bool takes, bool gives) {
    stage(0);
    for (std::uint64_t i = 0; i < segments_.number(); ++i) {
      b_.wait_all(team_, i + 1);
      reduce_share(i, takes, gives);
      if (i + 1 < segments_.number()) stage(i + 1);
      b_.publish(i + 2);
      if (!takes) continue;
      b_.wait_all(team_, i + 2);
      take_shares(i);
    }
    b_.close_phases(segments_.number() + 1);
  }

 private:
  Blocks shares(std::uint64_t i) const {
    return Blocks::shares(segments_.count(i), team_.size(), grain_);
  }

  void stage(std::uint64_t i) {
    b_.copy(segments_.of(in_, i), part(inputs_[i % 2], 0, segments_.count(i)));
    if (i == 0) b_.publish(1);
  }

  void reduce_share(std::uint64_t i, bool takes, bool gives) {
    const Blocks of = shares(i);
    const Slice own = part(segments_.of(out_, i), of, team_.me);
    const Slice cell = part(reduced_[i % 2], 0, of.count(team_.me));
    b_.combine(team_, part(inputs_[i % 2], of, team_.me), gives ? cell : own, false);
    if (gives && takes) b_.copy(cell, own);
  }

  void take_shares(std::uint64_t i) {
    const Blocks of = shares(i);
    for (Rank k = 1; k < team_.size(); ++k) {
      const Rank from = team_.after(k);
      b_.fetch(team_, from, part(reduced_[i % 2], 0, of.count(from)),
               part(segments_.of(out_, i), of, from), kStream);
    }
  }

  PlanBuilder& b_;
  const Team& team_;
  Slice in_;
  Slice out_;
  std::uint64_t grain_;
  Segments segments_;
  std::array<Slice, 2> inputs_;
  std::array<Slice, 2> reduced_;
};

}  // namespace

void staged_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
                       const Method& method) {
  StagedShares(b, team, in, out, method).add_steps(true, true);
}

void staged_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                   const Method& method) {
  StagedShares(b, team, in, out, method).add_steps(team.me == root, team.me != root);
}

void staged_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                           const Slice& out, const Method& method) {
  const std::uint64_t size =
      method.segment == 0 ? 0 : std::max<std::uint64_t>(method.segment / team.size(), 1);
  const Segments rounds(blocks.largest(), size);
  const std::uint64_t cell_size = rounds.largest();
  const std::array<Slice, 2> cells{b.window(cell_size * team.size()),
                                   b.window(cell_size * team.size())};
  const auto count = [&](Rank rank, std::uint64_t i) {
    return Segments(blocks.count(rank), cell_size).count(i);
  };
  const auto stage = [&](std::uint64_t i) {
    for (Rank rank = 0; rank < team.size(); ++rank) {
      b.copy(part(part(in, blocks, rank), rounds.offset(i), count(rank, i)),
             part(cells[i % 2], rank * cell_size, count(rank, i)));
    }
    b.publish(i + 1);
  };
  stage(0);
  for (std::uint64_t i = 0; i < rounds.number(); ++i) {
    b.wait_all(team, i + 1);
    const std::uint64_t mine = count(team.me, i);
    b.combine(team, part(cells[i % 2], team.me * cell_size, mine),
              part(out, rounds.offset(i), mine), kStream);
    if (i + 1 < rounds.number()) stage(i + 1);
  }
  b.close_phases(rounds.number());
}

void flat_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out) {
  const Slice cell = b.window(in.count);
  b.copy(in, cell);
  if (team.me == root) {
    b.wait_all(team, 1);
    b.combine(team, cell, out, kStream);
  } else {
    b.publish(1);
  }
  b.close_phases(1);
}

void flat_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out) {
  const Slice cell = b.window(in.count);
  b.copy(in, cell);
  b.publish(1);
  b.wait_all(team, 1);
  b.combine(team, cell, out, kStream);
  b.close_phases(1);
}

}  // namespace muster::collectives
