// One end of an inproc connection, and what both ends share.

#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/drivers/inproc/inproc.h"
#include "muster/drivers/inproc/inproc_dock.h"

namespace muster::drivers::internal {

class InprocConnection;

struct InprocPair {
  struct Side {
    std::shared_ptr<InprocDock> dock;
    InprocConnection* end = nullptr;  // Touched on that side's loop only.
    // What this side has sent and the other has not got yet.
    std::atomic<std::size_t> frames{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<bool> wants_room{false};
  };
  // The one who dialed, and the one who accepted. Their docks never change.
  std::array<Side, 2> sides;
};

// Calls `tell` with the end at `side`, if there still is one: at once if the
// caller is on that side's loop, else on that loop, later. False if that side's
// driver is gone.
bool tell(const std::shared_ptr<InprocPair>& pair, int side, const loop::Loop& here,
          std::function<void(InprocConnection&)> what);

class InprocConnection final : public net::Connection, private loop::Flusher {
 public:
  struct Limits {
    std::size_t max_frames;
    std::uint64_t max_bytes;
  };

  InprocConnection(std::shared_ptr<InprocPair> pair, int side, Limits limits, std::string peer);
  ~InprocConnection() override;

  Status send(wire::Frame& frame) override;
  Result<WritableBuffer> allocate(std::size_t size) override;
  bool passes(const Buffer&) const override { return true; }
  std::size_t max_body() const override { return wire::kMaxPart; }
  void close() override;
  net::Peer peer() const override;

  void set_sink(net::Sink& sink) { sink_ = &sink; }
  // Calls `knock` from the loop, before anything else.
  void knock_later(std::function<void()> knock);
  // The other side has accepted: what was queued may leave.
  void stand();
  // The other side is gone, or was never there.
  void lose(Error why);
  void receive(wire::Frame& frame);
  void tell_room();

 private:
  enum class State : std::uint8_t { dialing, open, closing, lost, closed };

  void flush() override;
  void deliver();
  bool has_room(std::uint64_t size) const;
  void part_from_peer();
  InprocPair::Side& mine() const { return pair_->sides[side_]; }

  std::shared_ptr<InprocPair> pair_;
  const int side_;
  const Limits limits_;
  const std::string peer_;
  net::Sink* sink_ = nullptr;
  State state_ = State::dialing;
  std::optional<Error> why_;
  std::function<void()> knock_;
  std::vector<wire::Frame> queue_;
};

}  // namespace muster::drivers::internal
