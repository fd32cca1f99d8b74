// Messages between everybody, or with the root. Sends do not wait, so each can
// send all it has and then take what comes.
#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

// What the member reduces in the order of the ranks: it gets everybody's
// contribution to `out`, and adds `own` where its turn is.
void receive_in_order(PlanBuilder& b, const Team& team, const Slice& own, const Slice& out) {
  for (Rank from = 0; from < team.size(); ++from) {
    const bool is_first = from == 0;
    if (from == team.me) {
      is_first ? b.copy(own, out) : b.reduce(own, out, false);
    } else {
      is_first ? b.receive(team, from, out) : b.receive_reduce(team, from, out, out, false);
    }
  }
  b.finish(out);
}

}  // namespace

void linear_broadcast(PlanBuilder& b, const Team& team, Rank root, const Slice& in,
                      const Slice& out) {
  if (team.me != root) return b.receive(team, root, out);
  for (Rank i = 1; i < team.size(); ++i) b.send(team, team.after(i), in);
}

void linear_scatter(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                    const Slice& in, const Slice& out) {
  if (team.me != root) return b.receive(team, root, out);
  for (Rank i = 1; i < team.size(); ++i) {
    b.send(team, team.after(i), part(in, blocks, team.after(i)));
  }
  b.copy(part(in, blocks, root), out);
}

void linear_gather(PlanBuilder& b, const Team& team, Rank root, const Blocks& blocks,
                   const Slice& in, const Slice& out) {
  if (team.me != root) return b.send(team, root, in);
  b.copy(in, part(out, blocks, root));
  for (Rank i = 1; i < team.size(); ++i) {
    b.receive(team, team.after(i), part(out, blocks, team.after(i)));
  }
}

void linear_reduce(PlanBuilder& b, const Team& team, Rank root, const Slice& in, const Slice& out) {
  if (team.me != root) return b.send(team, root, in);
  // Where input and result are the same memory, the first message must not
  // overwrite what is added later.
  if (root == 0) return receive_in_order(b, team, in, out);
  const Slice sum = b.scratch(in.count);
  receive_in_order(b, team, in, sum);
  b.copy(sum, out);
}

void linear_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                       const Slice& out) {
  for (Rank i = 1; i < team.size(); ++i) b.send(team, team.after(i), in);
  b.copy(in, part(out, blocks, team.me));
  for (Rank i = 1; i < team.size(); ++i) {
    b.receive(team, team.before(i), part(out, blocks, team.before(i)));
  }
}

void linear_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                           const Slice& out) {
  for (Rank i = 1; i < team.size(); ++i) {
    b.send(team, team.after(i), part(in, blocks, team.after(i)));
  }
  const Slice own = part(in, blocks, team.me);
  if (team.me == 0) return receive_in_order(b, team, own, out);
  const Slice sum = b.scratch(own.count);
  receive_in_order(b, team, own, sum);
  b.copy(sum, out);
}

void pairwise_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks,
                             const Slice& in, const Slice& out) {
  if (team.size() == 1) b.copy(part(in, blocks, 0), out);
  Slice sum = part(in, blocks, team.me);
  for (Rank i = 1; i < team.size(); ++i) {
    b.send(team, team.after(i), part(in, blocks, team.after(i)));
    b.receive_reduce(team, team.before(i), sum, out, false);
    sum = out;
  }
  b.finish(out);
}

void pairwise_all_to_all(PlanBuilder& b, const Team& team, const Blocks& sends,
                         const Blocks& receives, const Slice& in, const Slice& out) {
  for (Rank i = 1; i < team.size(); ++i) {
    b.send(team, team.after(i), part(in, sends, team.after(i)));
  }
  b.copy(part(in, sends, team.me), part(out, receives, team.me));
  for (Rank i = 1; i < team.size(); ++i) {
    b.receive(team, team.before(i), part(out, receives, team.before(i)));
  }
}

}  // namespace muster::collectives
