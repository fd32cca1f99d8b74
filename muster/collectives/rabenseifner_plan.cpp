// Recursive halving: each exchange leaves both with half of the sum to care for.
//
// Rabenseifner's all-reduce brings the shares together again, by recursive doubling.
// In it neighbours exchange first, so that the order of the ranks is kept.
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

// Those who are farthest apart exchange first, so that each ends with its own block. With
// more members than a power of two, the odd one of each pair goes on for both.
void halving_reduce_scatter(PlanBuilder& b, const Team& team, const Blocks& blocks, const Slice& in,
                            const Slice& out) {
  const Rank power = std::bit_floor(team.size());
  const Rank extra = team.size() - power;
  const bool is_paired = team.me < 2 * extra;
  if (is_paired && team.me % 2 == 0) {
    b.send(team, team.me + 1, in);
    b.settle();
    b.receive(team, team.me + 1, out);
    return;
  }
  const auto first_of = [&](Rank place) { return place < extra ? 2 * place : place + extra; };
  const auto slice = [&](const Slice& whole, const Held& held) {
    const std::uint64_t begin = blocks.offset(first_of(held.first));
    return part(whole, begin, blocks.end(first_of(held.last) - 1) - begin);
  };
  const Slice sums = is_paired || power > 2 ? b.scratch(in.count) : Slice{};
  Slice sum = in;  // As far as it has been added up.
  if (is_paired) {
    b.receive_reduce(team, team.me - 1, in, sums, true);
    sum = sums;
  }
  const Rank place = is_paired ? team.me / 2 : team.me - extra;
  Held held{0, power};
  for (Rank distance = power >> 1; distance > 0; distance >>= 1) {
    const bool is_upper = (place & distance) != 0;
    const Rank partner = place ^ distance;
    const Rank peer = partner < extra ? 2 * partner + 1 : partner + extra;
    b.send(team, peer, slice(sum, held.half(!is_upper)));
    held = held.half(is_upper);
    const bool is_home = distance == 1 && !is_paired;
    b.receive_reduce(team, peer, slice(sum, held), is_home ? out : slice(sums, held), is_upper);
    sum = sums;
  }
  if (is_paired) {
    b.finish(slice(sums, held));
    b.send(team, team.me - 1, part(sums, blocks, team.me - 1));
    b.copy(part(sums, blocks, team.me), out);
  } else {
    if (power == 1) b.copy(in, out);
    b.finish(out);
  }
}

}  // namespace muster::collectives
