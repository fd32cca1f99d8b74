#include "muster/collectives/call.h"

#include <numeric>

namespace muster::collectives::internal {

Description Call::description() const {
  if (part_of) return *part_of;
  Description what;
  what.deed = deed;
  what.element = element;
  what.reduction = reduction.kind();
  what.form = static_cast<std::uint8_t>((is_uneven ? Description::kUneven : 0) |
                                        (reduction.is_commutative() ? 0 : Description::kOrdered));
  what.root = root;
  if (!is_uneven) {
    what.count = count;
  } else if (operation == Operation::all_gather || operation == Operation::reduce_scatter) {
    what.counts = digest_of(counts);
  }
  return what;
}

Shape Call::shape(Rank ranks, Rank rank) const {
  Shape made = Shape::equal(operation, ranks, rank, count, root);
  made.is_commutative = reduction.is_commutative();
  made.has_finish = reduction.has_finish();
  if (!is_uneven) return made;
  made.is_even = false;
  made.blocks = Blocks::uneven(counts);
  if (operation != Operation::all_to_all) return made;
  made.receives = Blocks::uneven(receives);
  if (table.empty()) return made;
  made.peer_offsets.assign(ranks, 0);
  for (Rank peer = 0; peer < ranks; ++peer) {
    const auto row = table.begin() + static_cast<std::ptrdiff_t>(peer) * ranks;
    made.peer_offsets[peer] = std::accumulate(row, row + rank, std::uint64_t{0});
  }
  return made;
}

std::uint64_t Call::block_offset(Rank rank) const {
  const std::uint64_t before =
      is_uneven ? std::accumulate(counts.begin(), counts.begin() + rank, std::uint64_t{0})
                : count * rank;
  return before * size_of(element);
}

std::uint64_t Call::block_bytes(Rank rank) const {
  return (is_uneven ? counts[rank] : count) * size_of(element);
}

std::uint64_t Call::input_bytes(Rank ranks, Rank rank) const {
  return input_count(shape(ranks, rank)) * size_of(element);
}

bool Call::is_in_place(Rank ranks, Rank rank) const {
  if (input == nullptr || result == nullptr) return false;
  if (input == result) return true;
  if (is_uneven && counts.size() != ranks) return false;
  switch (operation) {
    case Operation::gather:
    case Operation::all_gather: return input == result + block_offset(rank);
    case Operation::scatter:
    case Operation::reduce_scatter: return result == input + block_offset(rank);
    default: return false;
  }
}

}  // namespace muster::collectives::internal
