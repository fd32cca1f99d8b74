// ReleaseQueue: which of a peer's blocks this process is done with.
//
// Buffers are let go on any thread; the link takes the handles from here and
// tells the owner.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <unistd.h>

#include "muster/arena/segment.h"
#include "muster/base/buffer.h"
#include "muster/base/result.h"

namespace muster::arena {

class RemoteBlock;

class ReleaseQueue {
 public:
  // `on_first` is called, on whichever thread let go, each time the queue
  // turns from empty to not. It may take() and close(), but must not wait for
  // a thread that may be about to. In a forked child it is not called: what the
  // child lets go its parent may still read, and the link is the parent's.
  explicit ReleaseQueue(std::function<void()> on_first = {});
  ReleaseQueue(const ReleaseQueue&) = delete;
  ReleaseQueue& operator=(const ReleaseQueue&) = delete;
  ~ReleaseQueue();

  // Any thread, lock-free. For a handle that never became a Buffer; Buffers
  // of make_remote_buffer() come here by themselves, without allocating.
  void push(std::uint64_t handle);

  // Appends all handles, oldest first. False if there were none. One thread at
  // a time, as for make_remote_buffer() and close().
  bool take(std::vector<std::uint64_t>& handles);

  // What is in the queue and what is still to come is dropped: the owner has
  // let go of everything with the link. Once this has returned, `on_first` is
  // neither running (but in this very thread) nor ever called again.
  void close();

  // `kept` goes with the queue: when its link has let go of it, and so has the last
  // Buffer of make_remote_buffer(), on whichever thread that is.
  void keep(std::shared_ptr<const void> kept) { kept_ = std::move(kept); }

  // Any thread. A hint, unless nobody else is at it.
  bool empty() const;

 private:
  friend class RemoteBlock;
  friend Result<Buffer> make_remote_buffer(std::shared_ptr<Segment>, std::uint64_t, std::uint64_t,
                                           const std::shared_ptr<ReleaseQueue>&, std::uint64_t);

  RemoteBlock* spare();  // From the free list, or new.
  void push(RemoteBlock* block);
  void ring();

  std::atomic<RemoteBlock*> released_{nullptr};  // Newest first.
  std::atomic<int> ringing_{0};                  // Threads inside on_first_.
  RemoteBlock* free_ = nullptr;
  std::function<void()> on_first_;
  std::shared_ptr<const void> kept_;
  const pid_t process_ = getpid();
};

}  // namespace muster::arena
