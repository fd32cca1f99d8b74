#include "muster/drivers/inproc/inproc_connection.h"

#include <utility>

#include <unistd.h>

namespace muster::drivers::internal {
namespace {

// Hands `frames` of side `from` to the other end, on whose loop this runs,
// until that end is gone.
void hand_over(const std::shared_ptr<InprocPair>& pair, int from,
               std::vector<wire::Frame>& frames) {
  InprocPair::Side& sender = pair->sides[from];
  const InprocPair::Side& receiver = pair->sides[1 - from];
  const InprocDock::Delivery delivery(*receiver.dock);
  for (wire::Frame& frame : frames) {
    if (receiver.end == nullptr) return;
    sender.bytes.fetch_sub(frame.body_size(), std::memory_order_seq_cst);
    sender.frames.fetch_sub(1, std::memory_order_seq_cst);
    receiver.end->receive(frame);
  }
  if (sender.wants_room.exchange(false, std::memory_order_seq_cst)) {
    tell(pair, from, receiver.dock->loop(), [](InprocConnection& end) { end.tell_room(); });
  }
}

}  // namespace

bool tell(const std::shared_ptr<InprocPair>& pair, int side, const loop::Loop& here,
          std::function<void(InprocConnection&)> what) {
  InprocPair::Side& there = pair->sides[side];
  if (&there.dock->loop() == &here) {
    if (there.end != nullptr) what(*there.end);
    return true;
  }
  return there.dock->push([pair, side, what = std::move(what)] {
    if (InprocConnection* const end = pair->sides[side].end) what(*end);
  });
}

InprocConnection::InprocConnection(std::shared_ptr<InprocPair> pair, int side, Limits limits,
                                   std::string peer)
    : pair_(std::move(pair)), side_(side), limits_(limits), peer_(std::move(peer)) {
  mine().end = this;
}

InprocConnection::~InprocConnection() {
  mine().dock->loop().check_held();
  mine().dock->loop().forget(*this);
  mine().end = nullptr;
  part_from_peer();
}

Status InprocConnection::send(wire::Frame& frame) {
  mine().dock->loop().check_held();
  if (state_ == State::closing || state_ == State::closed) {
    return Error(Code::cancelled, "the connection was closed by this side");
  }
  if (state_ == State::lost) return *why_;
  if (frame.parts.size() > wire::kMaxParts) {
    return Error(Code::invalid, "a frame has at most 1024 parts");
  }
  const std::uint64_t size = frame.body_size();
  if (!has_room(size)) {
    mine().wants_room.store(true, std::memory_order_seq_cst);
    // Looked at again: the other loop may have taken the last frame meanwhile,
    // and then nobody would tell of room.
    if (!has_room(size)) return Error(Code::overloaded, "the connection's queue is full");
    mine().wants_room.store(false, std::memory_order_relaxed);
  }
  mine().frames.fetch_add(1, std::memory_order_relaxed);
  mine().bytes.fetch_add(size, std::memory_order_relaxed);
  queue_.push_back(std::move(frame));
  if (state_ == State::open) mine().dock->schedule(*this);
  return ok();
}

bool InprocConnection::has_room(std::uint64_t size) const {
  const std::size_t frames = mine().frames.load(std::memory_order_seq_cst);
  const std::uint64_t bytes = mine().bytes.load(std::memory_order_seq_cst);
  return frames == 0 || (frames < limits_.max_frames && bytes + size <= limits_.max_bytes);
}

Result<WritableBuffer> InprocConnection::allocate(std::size_t size) {
  return WritableBuffer::on_heap(size);
}

net::Peer InprocConnection::peer() const {
  return {.address = peer_, .is_same_host = true, .pid = getpid()};
}

void InprocConnection::close() {
  mine().dock->loop().check_held();
  if (state_ == State::closing || state_ == State::closed) return;
  part_from_peer();
  state_ = State::closing;
  why_ = Error(Code::cancelled, "the connection was closed by this side");
  mine().dock->schedule(*this);
}

void InprocConnection::part_from_peer() {
  knock_ = nullptr;
  queue_.clear();
  if (state_ != State::dialing && state_ != State::open) return;
  tell(pair_, 1 - side_, mine().dock->loop(), [](InprocConnection& end) {
    end.lose(Error(Code::unavailable, "the other side closed the connection"));
  });
}

void InprocConnection::knock_later(std::function<void()> knock) {
  knock_ = std::move(knock);
  mine().dock->schedule(*this);
}

void InprocConnection::stand() {
  if (state_ != State::dialing) return;
  state_ = State::open;
  if (!queue_.empty()) mine().dock->schedule(*this);
}

void InprocConnection::lose(Error why) {
  if (state_ != State::dialing && state_ != State::open) return;
  state_ = State::lost;
  why_ = std::move(why);
  queue_.clear();
  mine().dock->schedule(*this);
}

void InprocConnection::receive(wire::Frame& frame) {
  if (state_ == State::open) sink_->on_frame(frame);
}

void InprocConnection::tell_room() {
  if (state_ == State::open) sink_->on_room();
}

void InprocConnection::flush() {
  switch (state_) {
    case State::dialing:
      if (knock_) std::exchange(knock_, nullptr)();
      return;
    case State::open: return deliver();
    case State::closing:
    case State::lost:
      state_ = State::closed;
      return sink_->on_closed(*std::exchange(why_, std::nullopt));  // May destroy this.
    case State::closed: return;
  }
}

void InprocConnection::deliver() {
  // Nothing of this object is used below but while it is known to live: a sink
  // may destroy the sender.
  const std::shared_ptr<InprocPair> pair = pair_;
  const int from = side_;
  std::vector<wire::Frame> frames = std::exchange(queue_, {});
  const InprocDock::Delivery delivery(*pair->sides[from].dock);
  if (&pair->sides[0].dock->loop() == &pair->sides[1].dock->loop()) {
    hand_over(pair, from, frames);
    frames.clear();
    // Its memory serves again.
    if (pair->sides[from].end == this && queue_.empty()) queue_.swap(frames);
    return;
  }
  auto crossing = std::make_shared<std::vector<wire::Frame>>(std::move(frames));
  pair->sides[1 - from].dock->push([pair, from, crossing] { hand_over(pair, from, *crossing); });
}

}  // namespace muster::drivers::internal
