// Through the first member: the fewest messages there can be, two for each of the others.
#include "muster/collectives/plan_families.h"

namespace muster::collectives {

void star_barrier(PlanBuilder& b, const Team& team) {
  if (team.me != 0) {
    b.send_token(team, 0);
    b.receive_token(team, 0);
    return;
  }
  for (Rank from = 1; from < team.size(); ++from) b.receive_token(team, from);
  for (Rank to = 1; to < team.size(); ++to) b.send_token(team, to);
}

void star_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out) {
  linear_reduce(b, team, 0, in, out);
  b.settle();
  linear_broadcast(b, team, 0, out, out);
}

void star_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                     const Slice& out) {
  linear_gather(b, team, 0, blocks, in, out);
  // What comes back has this member's own block in it, which may be where it was sent from.
  b.settle();
  linear_broadcast(b, team, 0, out, out);
}

}  // namespace muster::collectives
