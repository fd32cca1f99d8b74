// Call: one operation as a rank has called it, checked.

#pragma once

#include <cstddef>
#include <cstdint>
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

  Description description() const;
  // What plans are made from.
  Shape shape(Rank ranks, Rank rank) const;
  // Bytes of the blocks before `rank`'s, and of it.
  std::uint64_t block_offset(Rank rank) const;
  std::uint64_t block_bytes(Rank rank) const;
  bool is_in_place(Rank ranks, Rank rank) const;
  std::uint64_t input_bytes(Rank ranks, Rank rank) const;
};

// Each says Code::invalid, and why, for what cannot be called so.
struct Where {
  Rank ranks;
  Rank rank;
};
Call make_barrier();
Result<Call> make_broadcast(Where where, Output data, Rank root);
Result<Call> make_scatter(Where where, Input all, Output mine, Rank root);
Result<Call> make_gather(Where where, Input mine, Output all, Rank root);
Result<Call> make_reduce(Where where, Input mine, Output result, const Reduction& reduction,
                         Rank root);
Result<Call> make_all_reduce(Where where, Input mine, Output result, const Reduction& reduction);
Result<Call> make_all_gather(Where where, Input mine, Output all);
Result<Call> make_reduce_scatter(Where where, Input all, Output mine, const Reduction& reduction);
Result<Call> make_all_to_all(Where where, Input send, Output receive);

using CountSpan = std::span<const std::uint64_t>;
Result<Call> make_scatter_v(Where where, Input all, CountSpan counts, Output mine, Rank root);
Result<Call> make_gather_v(Where where, Input mine, Output all, CountSpan counts, Rank root);
Result<Call> make_all_gather_v(Where where, Input mine, Output all, CountSpan counts);
Result<Call> make_reduce_scatter_v(Where where, Input all, CountSpan counts, Output mine,
                                   const Reduction& reduction);
Result<Call> make_all_to_all_v(Where where, Input send, CountSpan send_counts, Output receive,
                               CountSpan receive_counts);

}  // namespace muster::collectives::internal
