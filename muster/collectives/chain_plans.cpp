// Pipelines: segments pass from member to member, so that all are busy at once.
#include <algorithm>

#include "muster/collectives/plan_families.h"

namespace muster::collectives {

void chain_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                     std::uint64_t segment) {
  const Rank size = team.size();
  const Rank place = (team.me + size - root) % size;
  const Segments segments(in.count, segment);
  for (std::uint64_t i = 0; i < segments.number(); ++i) {
    if (place > 0) b.receive(team, team.before(1), segments.of(out, i));
    if (place + 1 < size) b.send(team, team.after(1), segments.of(place == 0 ? in : out, i));
  }
}

// From the last place to the first, each with its own on the left.
void chain_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                  std::uint64_t segment, bool is_commutative) {
  // So many segments may be on their way to the next while others come in.
  constexpr std::uint64_t kCells = 8;
  const Rank size = team.size();
  const Rank top = is_commutative ? root : 0;
  const Rank place = (team.me + size - top) % size;
  const Segments segments(in.count, segment);
  const bool is_last = place + 1 == size;
  const bool keeps = team.me == root && top == root;
  const bool needs_cells = !is_last && !keeps;
  const std::uint64_t number = needs_cells ? std::min(kCells, segments.number()) : 0;
  const Slice scratch = b.scratch(number * segments.largest());
  // What the first place sends on to a root elsewhere is taken on the way: it has no more
  // cells than others, and would else wait for the root, which waits for it.
  const bool gets = team.me == root && top != root;
  const std::uint64_t behind = gets ? kCells + place : 0;
  for (std::uint64_t i = 0; i < segments.number(); ++i) {
    const Slice own = segments.of(in, i);
    Slice sum = own;
    if (needs_cells) sum = part(scratch, (i % kCells) * segments.largest(), own.count);
    if (keeps) sum = segments.of(out, i);
    if (needs_cells && i >= kCells) b.settle(kCells - 1);
    is_last ? b.copy(own, sum) : b.receive_reduce(team, team.after(1), own, sum, false);
    if (place != 0) {
      b.send(team, team.before(1), sum);
    } else {
      b.finish(sum);
      if (top != root) b.send(team, root, sum);
    }
    if (gets && i >= behind) b.receive(team, top, segments.of(out, i - behind));
  }
  const std::uint64_t first = segments.number() - std::min(behind, segments.number());
  for (std::uint64_t i = first; gets && i < segments.number(); ++i) {
    b.receive(team, top, segments.of(out, i));
  }
}

}  // namespace muster::collectives
