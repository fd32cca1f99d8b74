// Description: what a rank has called, short enough to travel with every operation.
//
// Ranks compare theirs before they touch each other's numbers: a call that
// differs is named, and never gives wrong data. Pure.

#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "muster/collectives/element.h"
#include "muster/collectives/plan.h"
#include "muster/collectives/reduction.h"
#include "muster/collectives/shape.h"

namespace muster::collectives {

// What ranks do together: the operations, by their numbers, and what has none.
// The numbers travel between processes: append, never renumber.
enum class Deed : std::uint8_t {
  barrier,
  broadcast,
  scatter,
  gather,
  reduce,
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  share,
  all_share,
  split,
  dup,
  grow,
  counts,   // No more in use.
  commit,   // Elastic: all have the result.
  refused,  // What this rank called cannot be done.
};

constexpr Deed deed_of(Operation operation) { return static_cast<Deed>(operation); }

// In memory as on desks and on the wire.
struct Description {
  Deed deed = Deed::barrier;
  Element element = Element::u8;
  Reduction::Kind reduction = Reduction::Kind::sum;
  std::uint8_t form = 0;  // kUneven, kOrdered, kCounting, kElastic.
  Rank root = 0;
  // Elements of a rank, where all ranks have the same; how many ranks it grows to.
  std::uint64_t count = 0;
  std::uint64_t counts = 0;  // digest_of() the counts, where all ranks know them.

  static constexpr std::uint8_t kUneven = 1;
  static constexpr std::uint8_t kOrdered = 2;
  static constexpr std::uint8_t kCounting = 4;  // Its first part: ranks tell what they want.
  static constexpr std::uint8_t kElastic = 8;   // All of an elastic communicator.

  friend bool operator==(const Description&, const Description&) = default;
};
static_assert(sizeof(Description) == 24 && std::has_unique_object_representations_v<Description>);

// "all_reduce(1000 x f32, sum)", "broadcast(8 x i32, root 2)". Takes anything:
// what is no number of ours is "unknown".
std::string describe(const Description& what);
// Beside one that differs: also of what these words do not tell.
std::string describe_beside(const Description& other, const Description& what);

std::uint64_t digest_of(std::span<const std::uint64_t> numbers);

// A digest of all that a rank has called, after one more call.
inline std::uint64_t extended(std::uint64_t history, const Description& what) {
  const auto words = std::bit_cast<std::array<std::uint64_t, 3>>(what);
  const auto with = [](std::uint64_t so_far, std::uint64_t word) {
    const std::uint64_t mixed = (so_far ^ word) * 0x9E3779B97F4A7C15;
    return mixed ^ mixed >> 32;
  };
  return with(with(with(history, words[0]), words[1]), words[2]);
}

}  // namespace muster::collectives
