// Plan: what one rank does in one operation, step by step. A value.
//
// Plan functions (plans.h) are pure: given the same shape and method, all
// ranks' plans fit together, and every result is the same whatever the timing.
// Whoever runs a plan (the Communicator; a model in the tests) does its steps
// in order. The rules between the two:
//
// Messages. send() hands its slice over and does not wait. Between two ranks,
// messages of an operation arrive in the order of their sends: the k-th
// receive or receive_reduce that names a peer takes the k-th send of that peer
// to this rank, and their counts are equal; a count of 0 is a message too. The
// slice of a send is written again only after a later `settle` has waited until
// the send has left it, or after a message that its receiver sent because of it.
// Sends may be held back until the receiver comes to its step: no plan depends
// on a message being buffered.
//
// Direct. A rank may read another's `input`, `result` or `window` on the same
// host, never write it: a late or stopped rank can then spoil nobody's memory.
// It reads only what the owner has announced with `publish` and it has seen
// with `wait`, and the owner leaves that alone until it has seen, with a wait
// of its own, a later publish of the reader. Phases of a rank count up within
// an operation, and all before a phase are included in it.
//
// Ends. A rank's result is whole when its plan ends, and nobody reads its
// input and result any more. Its window may still be read by others: a window
// belongs to one operation, and is given to another only when all ranks of the
// communicator have finished that operation.
//
// The only steps that wait for others are settle, wait, receive and
// receive_reduce.

#pragma once

#include <cstdint>
#include <vector>

namespace muster::collectives {

using Rank = std::uint32_t;

// The memory that steps speak of.
enum class Place : std::uint8_t {
  input,    // The caller's. Only read, unless it is the result as well.
  result,   // The caller's. Absent on ranks that get none.
  scratch,  // Private to the rank, Plan::scratch elements.
  window,   // Of the rank, in memory that all of its host read; Plan::window elements.
};

// A run of elements of one place.
struct Slice {
  Place place = Place::input;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;

  friend bool operator==(const Slice&, const Slice&) = default;
};

struct Step {
  enum class Kind : std::uint8_t {
    // Messages, over links.
    send,            // `from`, to `peer`.
    receive,         // From `peer`, into `to`.
    receive_reduce,  // From `peer`: `to` = `from` (op) the message, or the reverse (is_left).
                     // `from` and `to` are this rank's, the same or apart.
    settle,          // Wait until the slices of all sends so far, but the last `phase` of them,
                     // may be written.
    // On memory of this rank.
    copy,    // `from` into `to`, which are apart, or the same: then nothing is done.
    reduce,  // `to` = `to` (op) `from`, or the reverse (is_left).
    finish,  // What Reduction::has_finish() speaks of, on `to`.
    // Direct, on one host.
    publish,  // This rank has come to `phase`.
    wait,     // Until every other rank of `group` has come to `phase`.
    fetch,    // `from` of `peer` into `to`.
    combine,  // `to` = `from` of each rank of `group` (this one may be among them), reduced in
              // the order in which they stand there. `to` may be this rank's `from`.
  };

  Kind kind = Kind::settle;
  bool is_left = false;    // The message, or `from` of a reduce, stands on the left.
  bool is_final = false;   // combine: finishes as well.
  bool is_stream = false;  // This rank's result, and nobody reads it in this operation any more:
                           // if it is large, it may bypass the caches.
  Rank peer = 0;
  std::uint32_t phase = 0;
  std::uint32_t group = 0;  // In Plan::groups.
  Slice from;
  Slice to;

  friend bool operator==(const Step&, const Step&) = default;
};

struct Plan {
  std::vector<Step> steps;
  std::vector<std::vector<Rank>> groups;
  std::uint64_t scratch = 0;  // Elements.
  std::uint64_t window = 0;
  // Others read this rank's caller's memory (input, result): it has to be in
  // the arena, or they must be allowed to read this process (process_vm).
  bool is_exposed = false;

  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace muster::collectives
