// Exchanges over distances that double: logarithmically many, for small ones.
#include <algorithm>
#include <bit>

#include "muster/collectives/plan_families.h"

namespace muster::collectives {

void dissemination_barrier(PlanBuilder& b, const Team& team) {
  for (Rank distance = 1; distance < team.size(); distance <<= 1) {
    b.send_token(team, team.after(distance));
    b.receive_token(team, team.before(distance));
  }
}

// Each knows the blocks of `distance` members from itself on; every exchange
// doubles that. Works for any number of members.
void doubling_all_gather(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                         const Slice& out) {
  const Rank size = team.size();
  b.copy(in, part(out, blocks, team.me));
  const auto runs = [&](Rank first, Rank count) {
    const Rank until = std::min(first + count, size);
    std::vector<Slice> found{
        part(out, blocks.offset(first), blocks.end(until - 1) - blocks.offset(first))};
    if (first + count > size) found.push_back(part(out, 0, blocks.end(first + count - size - 1)));
    return found;
  };
  for (Rank distance = 1; distance < size; distance <<= 1) {
    const Rank count = std::min(distance, size - distance);
    for (const Slice& run : runs(team.me, count)) b.send(team, team.before(distance), run);
    const Rank from = team.after(distance);
    for (const Slice& run : runs(from, count)) b.receive(team, from, run);
  }
}

// With more members than a power of two, the first ones join in pairs, the odd
// one of each goes on for both. Neighbours join first: the order is kept.
void doubling_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out) {
  const Rank power = std::bit_floor(team.size());
  const Rank extra = team.size() - power;
  b.copy(in, out);
  const bool is_paired = team.me < 2 * extra;
  if (is_paired && team.me % 2 == 0) {
    b.send(team, team.me + 1, out);
    b.settle();
    b.receive(team, team.me + 1, out);
    return;
  }
  if (is_paired) b.receive_reduce(team, team.me - 1, out, out, true);
  const Slice other = power > 1 ? b.scratch(in.count) : Slice{};
  const Rank place = is_paired ? team.me / 2 : team.me - extra;
  for (Rank distance = 1; distance < power; distance <<= 1) {
    const Rank partner = place ^ distance;
    const Rank peer = partner < extra ? 2 * partner + 1 : partner + extra;
    b.send(team, peer, out);
    b.receive(team, peer, other);
    b.settle();
    b.reduce(other, out, partner < place);
  }
  b.finish(out);
  if (is_paired) b.send(team, team.me - 1, out);
}

}  // namespace muster::collectives
