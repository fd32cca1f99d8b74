// What all links of one shm driver share: the door, the arena, memory, and the
// poller that looks after them.

#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "muster/arena/arena.h"
#include "muster/arena/holdings.h"
#include "muster/base/buffer_pool.h"
#include "muster/drivers/shm/door.h"
#include "muster/drivers/shm/setup.h"
#include "muster/drivers/shm/shm.h"

namespace muster::drivers::shm {

class ShmConnection;

class ShmHub final : public loop::Poller, private loop::Flusher {
 public:
  static Result<std::unique_ptr<ShmHub>> make(loop::Loop& loop, const ShmOptions& options);
  ~ShmHub();
  ShmHub(const ShmHub&) = delete;
  ShmHub& operator=(const ShmHub&) = delete;

  // A link comes and goes. A link that is enrolled is visited when its bit of
  // the door is rung.
  Result<std::uint32_t> enrol(ShmConnection& connection);
  void dismiss(ShmConnection& connection, std::uint32_t slot);

  // Looks at the link's ring itself from now on, instead of waiting to be rung.
  void make_hot(ShmConnection& connection);

  // The link has ended: there is nothing to look at any more.
  void forget(ShmConnection& connection) { std::erase(hot_, &connection); }

  // What a peer may still do with our memory after its link has ended.
  struct Remains {
    pid_t pid;
    std::shared_ptr<const Descriptor> socket;
    std::vector<WritableBuffer> endangered;  // It may write there, until it has ended the link too.
    arena::Holdings lent;                    // It may read there, until it shuts the socket down.
  };
  // Keeps them for as long as that.
  void bury(Remains remains);

  // What we sent woke its receiver, or found it awake.
  void has_woken_a_peer() { has_sent(true); }
  void has_found_a_peer_awake() { has_sent(false); }

  bool poll() override;
  loop::Outlook outlook() override;
  bool has_woken_nobody() const override { return !hot_.empty() && woken_ == 0; }
  bool arm() override;
  void disarm() override;

  loop::Loop& loop() { return loop_; }
  const ShmOptions& options() const { return options_; }
  Door& door() { return *door_; }
  arena::Arena& arena() { return *arena_; }
  BufferPool& pool() { return pool_; }
  Probe& probe() { return probe_; }

 private:
  class Grave;
  static constexpr std::size_t kMostHot = 8;
  static constexpr std::uint32_t kProbeEvery = 8;

  ShmHub(loop::Loop& loop, const ShmOptions& options);
  void cool(ShmConnection& connection);
  void has_sent(bool woke) {
    woken_ = (has_considered_ ? 0 : woken_) + (woke ? 1 : 0);
    has_considered_ = false;
  }
  void flush() override;
  void open(const Grave& grave);

  loop::Loop& loop_;
  ShmOptions options_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<arena::Arena> arena_;
  BufferPool pool_;
  Probe probe_;
  std::vector<ShmConnection*> by_slot_;
  std::vector<ShmConnection*> hot_;  // Last used last.
  bool is_armed_ = false;            // Who sleeps is to be rung for.
  // Links with something that nobody will ring for.
  std::vector<std::uint32_t> left_over_;
  std::uint32_t woken_ = 0;      // Peers that slept, by what we sent last, to one or to many;
  bool has_considered_ = false;  // how to wait, since then;
  std::uint32_t wakes_ = 0;      // and how often in a row it was a single one.
  std::list<std::unique_ptr<Grave>> graves_;
};

}  // namespace muster::drivers::shm
