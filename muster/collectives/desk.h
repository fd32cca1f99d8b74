// Desk: a piece of a rank's own memory that all ranks of its host read.
//
// A rank writes nothing but its own desk, and believes nothing that it reads on
// others'. Operations have a slot each, in turn; a small contribution lies in
// the slot itself, so that an operation is one store and one load per peer.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "muster/collectives/description.h"

namespace muster::collectives {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);

// Operations that a rank may be ahead of the slowest.
inline constexpr std::uint64_t kSlots = 4;
inline constexpr std::size_t kSlotSize = 8192;
inline constexpr std::size_t kPayload = kSlotSize - 40;

struct alignas(64) Slot {
  Word number;  // Of the operation that it is for, once all below is there.
  Description what;
  std::uint64_t history;  // Of all calls of its rank up to this: extended().
  std::byte payload[kPayload];

  // Where one may wait for.
  static std::uint64_t index(std::uint64_t operation) { return operation % kSlots; }
};
static_assert(sizeof(Slot) == kSlotSize && offsetof(Slot, payload) == 40);

// How far a rank has come: the operation, and its phase. Only ever grows.
inline constexpr int kPhaseBits = 20;
inline constexpr std::uint64_t kLastPhase = (1U << kPhaseBits) - 1;
constexpr std::uint64_t progress_of(std::uint64_t operation, std::uint64_t phase) {
  return operation << kPhaseBits | phase;
}

struct Desk {
  // Others look at this after each operation, and it hardly ever changes.
  alignas(64) std::atomic<std::uint32_t> is_asleep;  // On a word of somebody's: wake it.
  std::atomic<std::uint32_t> is_closed;              // It reads nothing of others any more.
  std::atomic<std::uint64_t> aborted;                // The operation that failed here, else 0.
  alignas(64) Word progress;
  alignas(64) Slot slots[kSlots];
};

inline constexpr std::size_t kDeskSize = sizeof(Desk);

// Where some memory of a rank lies, for the others of its host.
struct Region {
  enum class Kind : std::uint32_t { none, arena, private_memory };
  Kind kind = Kind::none;
  std::uint32_t segment = 0;  // arena: which.
  std::uint64_t place = 0;    // arena: from its start on. Else the address.
  std::uint64_t bytes = 0;
};

// What lies in a slot's payload where the numbers themselves do not.
struct Exposure {
  Region input;
  Region result;
  Region window;
  // Whose processors the rank sees: what it is told may differ from rank to rank, under a tool
  // that plays a processor, say.
  std::uint64_t processors = 0;
};
static_assert(sizeof(Exposure) == 80);

}  // namespace muster::collectives
