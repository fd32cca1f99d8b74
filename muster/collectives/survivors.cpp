#include "muster/collectives/survivors.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace muster::collectives::internal {
namespace {

bool has_root(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::scatter ||
         operation == Operation::gather || operation == Operation::reduce;
}

bool has_input_blocks(const Call& call) {
  return call.input != nullptr &&
         (call.operation == Operation::scatter || call.operation == Operation::reduce_scatter ||
          call.operation == Operation::all_to_all);
}

bool has_result_blocks(const Call& call) {
  return call.result != nullptr &&
         (call.operation == Operation::gather || call.operation == Operation::all_gather ||
          call.operation == Operation::all_to_all);
}

// Elements of each rank's block, of what comes in or goes out.
std::vector<std::uint64_t> blocks_of(const Call& call, Rank ranks, bool is_result) {
  if (!call.is_uneven) return std::vector<std::uint64_t>(ranks, call.count);
  return is_result && call.operation == Operation::all_to_all ? call.receives : call.counts;
}

std::vector<std::uint64_t> of_alive(const std::vector<std::uint64_t>& all,
                                    const std::vector<Rank>& alive) {
  std::vector<std::uint64_t> some;
  for (const Rank rank : alive) {
    if (rank < all.size()) some.push_back(all[rank]);
  }
  return some;
}

// Calls `use` with the place of each survivor's block in the caller's memory,
// its place among the survivors' alone, and its bytes.
template <class Use>
void for_each_block(const Call& call, const std::vector<std::uint64_t>& blocks,
                    const std::vector<Rank>& alive, Use use) {
  std::uint64_t whole = 0;
  std::uint64_t packed = 0;
  auto next = alive.begin();
  for (Rank rank = 0; rank < blocks.size(); ++rank) {
    const std::uint64_t bytes = blocks[rank] * size_of(call.element);
    if (next != alive.end() && *next == rank) {
      use(whole, packed, bytes);
      packed += bytes;
      ++next;
    }
    whole += bytes;
  }
}

}  // namespace

Result<Reduced> for_survivors(const Call& call, Where where, const std::vector<Rank>& alive) {
  Reduced made{call, {}, {}};
  if (has_root(call.operation)) {
    const auto root = std::ranges::lower_bound(alive, call.root);
    if (root == alive.end() || *root != call.root) {
      return Error(Code::unavailable,
                   fmt::format("{}: the root, rank {}, was lost", name(call.operation), call.root));
    }
    made.call.root = static_cast<Rank>(root - alive.begin());
  }
  made.call.counts = of_alive(call.counts, alive);
  made.call.receives = of_alive(call.receives, alive);
  if (has_input_blocks(call)) {
    for_each_block(call, blocks_of(call, where.ranks, false), alive,
                   [&](std::uint64_t whole, std::uint64_t, std::uint64_t bytes) {
                     made.input.insert(made.input.end(), call.input + whole,
                                       call.input + whole + bytes);
                   });
    made.call.input = made.input.data();
  }
  if (has_result_blocks(call)) {
    for_each_block(call, blocks_of(call, where.ranks, true), alive,
                   [&](std::uint64_t, std::uint64_t packed, std::uint64_t bytes) {
                     made.result.resize(packed + bytes);
                   });
    made.call.result = made.result.data();
  }
  return made;
}

void spread(const Call& call, Where where, const std::vector<Rank>& alive, const Reduced& reduced) {
  if (!has_result_blocks(call)) return;
  for_each_block(call, blocks_of(call, where.ranks, true), alive,
                 [&](std::uint64_t whole, std::uint64_t packed, std::uint64_t bytes) {
                   if (bytes == 0) return;
                   std::memcpy(call.result + whole, reduced.result.data() + packed, bytes);
                 });
}

}  // namespace muster::collectives::internal
