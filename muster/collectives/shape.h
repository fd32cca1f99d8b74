// Shape: which operation, over which ranks, of how much. What a plan is made from.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "muster/collectives/plan.h"

namespace muster::collectives {

// The numbers travel between processes: append, never renumber.
enum class Operation : std::uint8_t {
  barrier,
  broadcast,
  scatter,
  gather,
  reduce,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
};

inline constexpr std::array kOperations{
    Operation::barrier,    Operation::broadcast,      Operation::scatter,
    Operation::gather,     Operation::reduce,         Operation::all_reduce,
    Operation::all_gather, Operation::reduce_scatter, Operation::all_to_all};

std::string_view name(Operation operation);

// One block per rank, packed one after the other in the order of the ranks.
class Blocks {
 public:
  Blocks() = default;

  static Blocks equal(Rank ranks, std::uint64_t count);
  static Blocks uneven(std::vector<std::uint64_t> counts);
  // `total` elements over `ranks`, as even as multiples of `grain` allow. The
  // last ones may get nothing.
  static Blocks shares(std::uint64_t total, Rank ranks, std::uint64_t grain);

  Rank ranks() const { return static_cast<Rank>(ends_.size()); }
  std::uint64_t offset(Rank rank) const { return rank == 0 ? 0 : ends_[rank - 1]; }
  std::uint64_t end(Rank rank) const { return ends_[rank]; }
  std::uint64_t count(Rank rank) const { return end(rank) - offset(rank); }
  std::uint64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  std::uint64_t largest() const;

  // Of one rank's block, or of [first, last).
  Slice of(Place place, Rank rank) const { return {place, offset(rank), count(rank)}; }
  Slice span(Place place, Rank first, Rank last) const;

  friend bool operator==(const Blocks&, const Blocks&) = default;

 private:
  std::vector<std::uint64_t> ends_;
};

struct Shape {
  Operation operation = Operation::barrier;
  Rank ranks = 1;
  Rank rank = 0;
  Rank root = 0;  // broadcast, scatter, gather, reduce.

  // broadcast, reduce, all_reduce: the elements of a rank.
  std::uint64_t count = 0;
  // scatter, gather, all_gather, reduce_scatter: what is each rank's.
  // all_to_all: what this rank sends to each.
  Blocks blocks;
  // all_to_all: what it gets from each, and where that begins in each rank's
  // input (needed by plans that read it there; may else be empty).
  Blocks receives;
  std::vector<std::uint64_t> peer_offsets;
  bool is_even = true;  // all_to_all: everybody sends as much to everybody.

  bool is_commutative = true;  // Of those that reduce.
  bool has_finish = false;     // Reduction::has_finish().

  bool is_root() const { return rank == root; }

  // Of equal counts; all_to_all too.
  static Shape equal(Operation operation, Rank ranks, Rank rank, std::uint64_t count,
                     Rank root = 0);

  friend bool operator==(const Shape&, const Shape&) = default;
};

// Elements of the largest buffer of a rank: what "the size of the operation"
// means in the table of choices and in the benchmarks.
std::uint64_t largest_buffer(const Shape& shape);

// Elements that a rank's input and result must have; 0 where it has none.
std::uint64_t input_count(const Shape& shape);
std::uint64_t result_count(const Shape& shape);

}  // namespace muster::collectives
