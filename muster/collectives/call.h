// Call: one operation as a rank has called it, checked.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "muster/base/result.h"
#include "muster/collectives/description.h"
#include "muster/collectives/reduction.h"
#include "muster/collectives/shape.h"
#include "muster/collectives/view.h"

namespace muster::collectives::internal {

struct Call {
  Operation operation = Operation::barrier;
  Deed deed = Deed::barrier;
  Element element = Element::u8;
  Reduction reduction = Reduction::sum;
  Rank root = 0;
  const std::byte* input = nullptr;  // Null: this rank has none.
  std::byte* result = nullptr;       // The same.
  std::uint64_t count = 0;           // Of a rank, or of a block.
  bool is_uneven = false;
  std::vector<std::uint64_t> counts;    // Of each rank's block; all_to_all: of what goes there.
  std::vector<std::uint64_t> receives;  // all_to_all: of what comes from there.
  // all_to_all: what every rank sends to every other, row by row. Known once
  // the ranks have told each other.
  std::vector<std::uint64_t> table;
  // What the ranks compare, if it is a part of another call.
  std::optional<Description> part_of;
  std::shared_ptr<const void> owner;  // Keeps what it reads and writes, if anybody does.

  Description description() const;
  // What plans are made from.
  Shape shape(Rank ranks, Rank rank) const;
  // Bytes of the blocks before `rank`'s, and of it.
  std::uint64_t block_offset(Rank rank) const;
  std::uint64_t block_bytes(Rank rank) const;
  bool is_in_place(Rank ranks, Rank rank) const;
  std::uint64_t input_bytes(Rank ranks, Rank rank) const;
};

// Who calls, of how many.
struct Where {
  Rank ranks;
  Rank rank;
};
Call make_barrier();

// Each makes a call of `call`, which is new. Code::invalid, and why, for what cannot be called so.
Status make_broadcast(Call& call, Where where, Output data, Rank root);
Status make_scatter(Call& call, Where where, Input all, Output mine, Rank root);
Status make_gather(Call& call, Where where, Input mine, Output all, Rank root);
Status make_reduce(Call& call, Where where, Input mine, Output result, const Reduction& reduction,
                   Rank root);
Status make_all_reduce(Call& call, Where where, Input mine, Output result,
                       const Reduction& reduction);
Status make_all_gather(Call& call, Where where, Input mine, Output all);
Status make_reduce_scatter(Call& call, Where where, Input all, Output mine,
                           const Reduction& reduction);
Status make_all_to_all(Call& call, Where where, Input send, Output receive);

using CountSpan = std::span<const std::uint64_t>;
Status make_scatter_v(Call& call, Where where, Input all, CountSpan counts, Output mine, Rank root);
Status make_gather_v(Call& call, Where where, Input mine, Output all, CountSpan counts, Rank root);
Status make_all_gather_v(Call& call, Where where, Input mine, Output all, CountSpan counts);
Status make_reduce_scatter_v(Call& call, Where where, Input all, CountSpan counts, Output mine,
                             const Reduction& reduction);
Status make_all_to_all_v(Call& call, Where where, Input send, CountSpan send_counts, Output receive,
                         CountSpan receive_counts);

}  // namespace muster::collectives::internal
