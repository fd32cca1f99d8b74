// Binomial trees of whole messages. Places in the tree are counted from the
// root; place v passes on to v + 1, v + 2, v + 4, ... below its own lowest bit.
#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

// The distance to the parent of a place, which is its lowest bit; for the root
// a power of two that covers all.
Rank reach(Rank place, Rank size) {
  Rank bit = 1;
  while (bit < size && (place & bit) == 0) bit <<= 1;
  return bit;
}

}  // namespace

void tree_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in,
                    const Slice& out) {
  const Rank size = team.size();
  const Rank place = (team.me + size - root) % size;
  const Rank up = reach(place, size);
  if (place != 0) b.receive(team, (place - up + root) % size, out);
  for (Rank bit = up >> 1; bit > 0; bit >>= 1) {
    if (place + bit < size) b.send(team, (place + bit + root) % size, place == 0 ? in : out);
  }
}

void tree_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out,
                 bool is_commutative) {
  const Rank size = team.size();
  // In the order of the ranks, the tree grows from rank 0, which passes the result on.
  const Rank top = is_commutative ? root : 0;
  const Rank place = (team.me + size - top) % size;
  const Rank up = reach(place, size);
  Slice sum = in;
  const Slice kept = team.me == root && top == root ? out
                     : up > 1 && place + 1 < size   ? b.scratch(in.count)
                                                    : in;
  for (Rank bit = 1; bit < up; bit <<= 1) {
    if (place + bit >= size) break;
    b.receive_reduce(team, (place + bit + top) % size, sum, kept, false);
    sum = kept;
  }
  if (place != 0) {
    b.send(team, (place - up + top) % size, sum);
    if (team.me == root) b.receive(team, top, out);
    return;
  }
  if (top == root) {
    b.copy(sum, out);
    b.finish(out);
  } else {
    b.finish(sum);
    b.send(team, root, sum);
  }
}

}  // namespace muster::collectives
