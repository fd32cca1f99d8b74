// Rabenseifner's all-reduce: recursive halving leaves each with a share of the
// sum, recursive doubling brings the shares together. Neighbours exchange first,
// so that the order of the ranks is kept.
#include <bit>

#include "muster/collectives/plan_families.h"

namespace muster::collectives {
namespace {

// The shares that a place holds after the exchanges over distances below `distance`.
struct Held {
  Rank first = 0;
  Rank last = 0;

  Rank middle() const { return first + (last - first) / 2; }
  Held half(bool is_upper) const { return is_upper ? Held{middle(), last} : Held{first, middle()}; }
};

Held held_by(Rank place, Rank distance, Rank power) {
  Held held{0, power};
  for (Rank bit = 1; bit < distance; bit <<= 1) held = held.half((place & bit) != 0);
  return held;
}

}  // namespace

void rabenseifner_all_reduce(PlanBuilder& b, const Team& team, const Slice& in, const Slice& out,
                             std::uint64_t grain) {
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
  const Blocks shares = Blocks::shares(in.count, power, grain);
  const auto slice = [&](const Held& held) {
    return part(out, shares.offset(held.first),
                shares.end(held.last - 1) - shares.offset(held.first));
  };
  const Rank place = is_paired ? team.me / 2 : team.me - extra;
  const auto peer_at = [&](Rank distance) {
    const Rank partner = place ^ distance;
    return partner < extra ? 2 * partner + 1 : partner + extra;
  };
  for (Rank distance = 1; distance < power; distance <<= 1) {
    const Held held = held_by(place, distance, power);
    const bool is_upper = (place & distance) != 0;
    b.send(team, peer_at(distance), slice(held.half(!is_upper)));
    const Slice kept = slice(held.half(is_upper));
    b.receive_reduce(team, peer_at(distance), kept, kept, is_upper);
  }
  b.finish(slice(held_by(place, power, power)));
  b.settle();
  for (Rank distance = power >> 1; distance > 0; distance >>= 1) {
    const Held held = held_by(place, distance, power);
    const bool is_upper = (place & distance) != 0;
    b.send(team, peer_at(distance), slice(held.half(is_upper)));
    b.receive(team, peer_at(distance), slice(held.half(!is_upper)));
  }
  if (is_paired) b.send(team, team.me - 1, out);
}

}  // namespace muster::collectives
