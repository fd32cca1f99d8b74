// What a crew keeps of its ranks and of what is between them. Private to it.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "muster/arena/segment.h"
#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/collectives/description.h"
#include "muster/collectives/desk.h"
#include "muster/collectives/note.h"

namespace muster::collectives::internal {

// A message that has come and was not taken yet.
struct Incoming {
  std::uint64_t number;  // Of the operation; of a message, its tag.
  Description what;
  Buffer part;
  std::uint32_t history = 0;  // Of an operation: the end of what extended() gives.
};

// One that waits until the receiver allows it.
struct Outgoing {
  Note note;
  Buffer part;
  std::uint64_t cost;
};

// One direction each, between two ranks.
struct Stream {
  std::deque<Incoming> in;
  std::deque<Outgoing> out;
  std::uint64_t unconfirmed = 0;  // Bytes sent and not known to be taken.
  std::uint64_t taken = 0;        // Bytes taken and not confirmed.
};

// Where a message of this operation shall go.
struct Landing {
  std::uint64_t index;
  std::span<std::byte> memory;
  // Nobody writes there any more. Null: nobody ever did.
  std::shared_ptr<std::atomic<bool>> is_back;
};

// One of the other ranks.
struct Peer {
  Stream operations;
  Stream messages;
  std::uint64_t sends = 0;  // In this operation, as are
  std::uint64_t receives = 0;
  std::deque<Landing> landings;  // by the index of the message.
  Buffer held_desk;
  const Desk* desk = nullptr;           // Null: not of this host.
  bool agrees = false;                  // It has begun to. Under the baton.
  bool has_told_trouble = false;        // It does no more operations. The same.
  bool has_unmade = false;              // It gave up before the crew was made. The same.
  bool is_left_out = false;             // Of what this crew was split from. The same.
  std::uint64_t late_for = 0;           // Of newcomers: the operation that names them. The same.
  std::uint64_t finished = 0;           // Operations that it is known to have ended.
  std::uint64_t seen = 0;               // The latest of which its slot was looked at.
  std::atomic<std::uint64_t> heard{0};  // The latest operation that it is known to be in.
  // The last operation that it took part in, once it has closed its end.
  std::atomic<std::uint64_t> left_after{UINT64_MAX};
  std::vector<std::pair<std::uint32_t, std::weak_ptr<arena::Segment>>> segments;
};

// Why nothing works any more.
struct Trouble {
  Error why;
  Rank found_by;
  bool is_told = false;  // By us, to all.
};

// A call that could not be made on another rank, as long as it is not known whether it could
// be made here.
struct Refusal {
  Rank from;
  std::uint64_t number;
  std::string why;
};

// A message of this operation on its way out.
struct Sent {
  std::shared_ptr<std::atomic<bool>> is_back;  // The memory is let go. Null: it was a copy.
  Rank to;
  bool is_settled() const { return is_back == nullptr || is_back->load(std::memory_order_acquire); }
};

}  // namespace muster::collectives::internal
