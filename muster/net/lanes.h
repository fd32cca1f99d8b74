// Lanes: the messages that wait to be sent, and whose turn it is. Pure.
//
// Order holds within a lane. The more urgent priority always goes first;
// channels of equal priority take turns. A large message at the head of a lane
// holds up that lane alone, and gives way to the others after each chunk.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "muster/net/driver.h"
#include "muster/net/link_head.h"
#include "muster/net/transfer.h"
#include "muster/wire/frame.h"

namespace muster::net {

struct Lane {
  std::uint32_t channel = 0;
  std::uint8_t priority = 1;  // 0, the most urgent, to 3.

  friend bool operator==(const Lane&, const Lane&) = default;
};

// A message that waits, and how far it has come.
struct Queued {
  wire::Frame frame;
  Lane lane;
  std::size_t size = 0;
  std::unique_ptr<OutgoingTransfer> transfer;  // Once it has been offered.
  Queued* next = nullptr;
};

// Keeps what was let go for the next message: once warm, queueing allocates
// nothing. Shared by all links of an endpoint.
class QueuedPool {
 public:
  // Keeps at most `limit` idle.
  explicit QueuedPool(std::size_t limit = 32768) : limit_(limit) {}
  ~QueuedPool();
  QueuedPool(const QueuedPool&) = delete;
  QueuedPool& operator=(const QueuedPool&) = delete;

  Queued* take();
  void give_back(Queued* queued);

 private:
  std::size_t limit_;
  std::size_t idle_ = 0;
  Queued* free_ = nullptr;
};

class Lanes {
 public:
  explicit Lanes(QueuedPool& pool) : pool_(pool) {}
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Takes over `frame`, at the end of its lane.
  void push(wire::Frame& frame, Lane lane);

  // Whose turn it is among messages that wait to be handed over or offered
  // and, if `chunks`, those that were granted. Without `messages` the former
  // are left out. Null if there is none.
  Queued* next(bool messages, bool chunks);

  // For what next() gave. It was handed over wholly and is gone.
  void pop(Queued* queued);
  // It was offered, or pauses: its lane stands still until resume() or drop().
  void wait(Queued* queued);
  // One of its chunks was handed over.
  void yield(Queued* queued);

  // For what waits: the transfer with this id, if there is one.
  Queued* find_waiting(std::uint64_t transfer) const;
  void resume(Queued* queued);
  // The message leaves its lane, into `frame`.
  void drop(Queued* queued, wire::Frame& frame);

  // The connection is gone: what was not handed over wholly begins anew.
  void restart();

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  // Bytes of memory that wait, bodies and all.
  std::size_t bytes() const { return bytes_[0] + bytes_[1]; }
  // Of large messages alone, or of small ones: each kind has its own limit, so
  // that small ones can still overtake when large ones have filled theirs.
  std::size_t bytes(bool is_large) const { return bytes_[is_large ? 1 : 0]; }
  static std::size_t size_of(const wire::Frame& frame) {
    return sizeof(Queued) + frame.body_size();
  }
  static bool is_large(std::size_t size) { return size > sizeof(Queued) + kLargePart; }

 private:
  enum class State : std::uint8_t { idle, ready, waiting, granted };
  struct Queue {
    std::uint64_t key = 0;
    Queued* head = nullptr;
    Queued* tail = nullptr;
    Queue* next = nullptr;  // In the ring that it stands in.
    State state = State::idle;
  };
  struct Ring {
    Queue* head = nullptr;
    Queue* tail = nullptr;
    void push(Queue& queue);
    void pop();
  };
  struct Priority {
    Ring ready;
    Ring granted;
    bool is_granted_next = false;  // They take turns.
  };

  static std::uint64_t key_of(Lane lane) {
    return static_cast<std::uint64_t>(lane.channel) << 8 | lane.priority;
  }
  Queue& queue_of(Lane lane);
  Ring& ring_of(const Queued& queued, State state);
  void remove_head(Queue& queue, Lane lane);
  void retire(Queue& queue);

  QueuedPool& pool_;
  std::unordered_map<std::uint64_t, Queue> queues_;
  Queue* last_ = nullptr;  // Most sends go where the last went.
  std::array<Priority, kPriorities> priorities_;
  std::size_t count_ = 0;
  std::array<std::size_t, 2> bytes_{};  // Of small messages, of large ones.
};

}  // namespace muster::net
