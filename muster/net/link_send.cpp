// A link's sending half: credit, lanes, offers and chunks.

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "muster/net/link.h"
#include "muster/net/link_shared.h"

namespace muster::net {
namespace {

// Chunks that lie in the driver at once: one that leaves, one that follows. Of those that
// are twice as large, one.
constexpr std::size_t kChunksOut = 2;
// A chunk need not be smaller than this for the sake of those who wait.
constexpr std::size_t kSmallChunk = std::size_t{256} << 10;

// So that two chunks together hold up others for little more than one frame of
// the largest kind.
std::size_t chunk_size(std::size_t max_body) {
  return std::min(max_body, std::max(kSmallChunk, max_body / 2));
}

bool is_sound(const wire::Frame& frame, Lane lane) {
  return frame.head.size() >= kLinkHead && lane.priority < kPriorities &&
         frame.parts.size() <= wire::kMaxParts;
}

Error above_limit(std::uint64_t size, const LinkPeer& peer) {
  return {Code::invalid, fmt::format("a body of {} bytes; {} takes at most {}", size,
                                     peer.name.empty() ? "the peer" : peer.name, peer.max_body)};
}

}  // namespace

// Hands `frame` to the connection, and with it the credit that is owed. Inline in
// the most frequent case: a head that is put together in registers leaves by whole
// words, which the copy that follows can read at once.
[[gnu::always_inline]] inline Status Link::transmit_inline(LinkHead head, wire::Frame& frame,
                                                           bool lends) {
  head.credit = receive_window_.owed();
  write_link_head(head, frame.head);
  Status sent = lends ? connection_->lend(frame) : connection_->send(frame);
  note_transmitted(sent, head.credit);
  return sent;
}

inline void Link::note_transmitted(const Status& sent, std::uint32_t credit) {
  if (sent) {
    receive_window_.settle(credit);
    keep_alive_.sent();
  } else if (sent.error().code() != Code::invalid) {
    // If it was not for want of room, the connection has ended and tells so soon.
    has_room_ = false;
  }
}

// What could not be sent has to be queued, and nothing has happened.
inline bool Link::must_wait(const Status& sent) const {
  return !sent && (sent.error().code() == Code::overloaded || will_retry());
}

Status Link::send(wire::Frame& frame, Lane lane) {
  if (!may_send_at_once() || !is_sound(frame, lane)) return queue(frame, lane);
  const Passage passage = look_at(frame);
  const auto cost = static_cast<std::uint32_t>(passage.counted) + kMessageCost;
  if (passage.total > peer_.max_body || is_large(passage) || !send_window_.fits(cost)) {
    return queue(frame, lane);
  }
  LinkHead head = head_for(Kind::message, lane);
  head.aux = cost;
  Status sent = transmit_inline(head, frame, false);
  if (sent) count_sent(passage.total, cost);
  return must_wait(sent) ? queue(frame, lane) : sent;
}

Status Link::send_copy(std::span<const std::byte> part, Lane lane) {
  if (may_send_at_once() && part.size() < kReferenceFrom && part.size() <= peer_.max_body &&
      lane.priority < kPriorities) {
    const auto cost = static_cast<std::uint32_t>(part.size()) + kMessageCost;
    if (send_window_.fits(cost)) {
      Status sent = copy_at_once(part, lane, cost);
      if (!must_wait(sent)) return sent;
    }
  }
  wire::Frame frame;
  frame.head.resize(kLinkHead);
  frame.parts.push_back(Buffer::copy_of(part));
  return queue(frame, lane);
}

[[gnu::always_inline]] inline Status Link::copy_at_once(std::span<const std::byte> part, Lane lane,
                                                        std::uint32_t cost) {
  LinkHead head = head_for(Kind::message, lane);
  head.aux = cost;
  head.credit = receive_window_.owed();
  alignas(16) std::array<std::byte, kLinkHead> bytes;
  write_link_head(head, bytes);
  Status sent = connection_->send_copy(bytes, part);
  note_transmitted(sent, head.credit);
  if (sent) count_sent(part.size(), cost);
  return sent;
}

Status Link::transmit(const LinkHead& head, wire::Frame& frame, bool lends) {
  return transmit_inline(head, frame, lends);
}

Status Link::queue(wire::Frame& frame, Lane lane) {
  shared_.loop.check_held();
  if (!is_sound(frame, lane)) {
    return Error(Code::invalid,
                 fmt::format("a message has a head of at least {} bytes, a priority below {} and "
                             "at most {} parts",
                             kLinkHead, kPriorities, wire::kMaxParts));
  }
  const bool is_over = is_closing_ || state_ == State::left || state_ == State::ending;
  if (is_over && !will_retry())
    return Error(Code::unavailable, "the link is closed, or is closing");
  const std::uint64_t size = frame.body_size();
  if (was_ever_up_ && size > peer_.max_body) return above_limit(size, peer_);
  // One that is larger than the whole queue waits alone.
  const bool is_large = Lanes::is_large(Lanes::size_of(frame));
  const std::size_t waiting = lanes_.bytes(is_large);
  if (waiting > 0 && waiting + Lanes::size_of(frame) > shared_.options.max_queued) {
    (is_large ? wants_large_room_ : wants_room_) = true;
    return Error(Code::overloaded, "the link's queue is full");
  }
  lanes_.push(frame, lane);
  pump();
  return ok();
}

void Link::on_room() {
  has_room_ = has_chunk_room_ = true;
  if (!is_established()) return flush_control();
  pump();
}

void Link::pump() {
  if (is_pumping_ || !is_established()) return;
  if (state_ == State::left) return flush_control();
  is_pumping_ = true;
  flush_control();
  // Once one message lacks credit, none may overtake it for less.
  bool messages = true;
  while (has_room_) {
    Queued* const queued = lanes_.next(messages, may_send_chunk());
    if (queued == nullptr) break;
    if (queued->transfer) {
      send_chunk(*queued);
    } else if (!send_queued(*queued)) {
      messages = false;
    }
  }
  if (state_ == State::leaving && lanes_.empty() && control_.empty() && !is_bye_said_) say_bye();
  is_pumping_ = false;
  const std::size_t half = shared_.options.max_queued / 2;
  const bool has_room = wants_room_ && lanes_.bytes(false) <= half;
  const bool has_large_room = wants_large_room_ && lanes_.bytes(true) <= half;
  if (!has_room && !has_large_room) return;
  wants_room_ = wants_large_room_ = false;
  sink_->on_room();
}

// False if it lacks credit.
bool Link::send_queued(Queued& queued) {
  const Passage passage = look_at(queued.frame);
  if (passage.total > peer_.max_body) {
    give_up(queued, above_limit(passage.total, peer_));
    return true;
  }
  if (is_large(passage)) return send_offer(queued, passage);
  const auto cost = static_cast<std::uint32_t>(passage.counted) + kMessageCost;
  if (!send_window_.fits(cost)) return false;
  LinkHead head = head_for(Kind::message, queued.lane);
  head.aux = cost;
  if (Status sent = transmit(head, queued.frame); sent) {
    count_sent(passage.total, cost);
    lanes_.pop(&queued);
  } else if (sent.error().code() == Code::invalid) {
    give_up(queued, sent.error());
  }
  return true;
}

bool Link::send_offer(Queued& queued, const Passage& passage) {
  // More than the window cannot be charged; this much lets a few large ones
  // wait at the receiver, whatever their size.
  const auto cost = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(passage.counted + kMessageCost, send_window_.size() / 4));
  if (!send_window_.fits(cost)) return false;
  const wire::Parts& parts = queued.frame.parts;
  // What is lent leaves sooner than it can be taken, and the more at once the better.
  const bool lends = will_lend(passage);
  const std::size_t most = connection_->max_body();
  auto transfer =
      std::make_unique<OutgoingTransfer>(last_offered_ + 1, parts, lends ? most : chunk_size(most),
                                         [&](std::size_t i) { return is_passed(parts[i]); });
  if (lends) transfer->pause_before_end();
  wire::Frame offer;
  offer.head = queued.frame.head;
  LinkHead head = head_for(Kind::offer, queued.lane);
  head.aux = cost;
  head.id = transfer->id();
  head.offset = transfer->pause();
  offer.parts = transfer->offer(parts);
  if (Status sent = transmit(head, offer); !sent) {
    if (sent.error().code() == Code::invalid) give_up(queued, sent.error());
    return true;
  }
  last_offered_ = transfer->id();
  send_window_.take(cost);
  queued.transfer = std::move(transfer);
  lanes_.wait(&queued);
  return true;
}

bool Link::will_lend(const Passage& passage) const {
  return passage.counted >= shared_.options.lent_from && version_ >= kPausesVersion &&
         connection_->lends();
}

bool Link::may_send_chunk() const {
  return has_chunk_room_ && chunks_out_ < kChunksOut * chunk_size(connection_->max_body());
}

void Link::send_chunk(Queued& queued) {
  OutgoingTransfer& transfer = *queued.transfer;
  const wire::Parts& parts = queued.frame.parts;
  const OutgoingTransfer::Chunk chunk = transfer.peek(parts);
  if (!gate_) {
    gate_ = std::make_shared<internal::ChunkGate>(internal::ChunkGate{shared_.loop, this});
  }
  wire::Frame frame;
  frame.head.resize(kLinkHead);
  LinkHead head = head_for(Kind::chunk, queued.lane);
  head.id = transfer.id();
  head.aux = chunk.part;
  head.offset = chunk.offset;
  frame.parts.push_back(internal::make_chunk(chunk.bytes, parts[chunk.part], gate_));
  chunks_out_ += chunk.bytes.size();
  const bool had_room = has_room_;
  if (Status sent = transmit(head, frame, transfer.is_before_pause()); !sent) {
    // There may well be room for what is smaller.
    if (sent.error().code() == Code::overloaded) has_room_ = had_room;
    has_chunk_room_ = false;
    if (sent.error().code() == Code::invalid) fail(sent.error());
    return;
  }
  transfer.advance(chunk, parts);
  if (transfer.is_at_pause()) return lanes_.wait(&queued);
  if (!transfer.is_sent()) return lanes_.yield(&queued);
  ++counters_.messages_sent;
  counters_.bytes_sent += queued.frame.body_size();
  lanes_.pop(&queued);
}

void Link::give_up(Queued& queued, const Error& why) {
  wire::Frame frame;
  const Lane lane = queued.lane;
  lanes_.drop(&queued, frame);
  sink_->on_refused(frame, lane, why);
}

void Link::send_control(const LinkHead& head, wire::Parts parts) {
  wire::Frame frame;
  frame.head.resize(kLinkHead);
  frame.parts = std::move(parts);
  if (has_room_ && control_.empty() && transmit(head, frame)) return;
  control_.push_back({head, std::move(frame)});
}

void Link::flush_control() {
  std::size_t sent = 0;
  while (has_room_ && sent < control_.size() &&
         transmit(control_[sent].head, control_[sent].frame)) {
    ++sent;
  }
  control_.erase(control_.begin(), control_.begin() + static_cast<std::ptrdiff_t>(sent));
  if (has_room_ && receive_window_.is_due()) send_control(head_for(Kind::credit));
}

void Link::done(std::size_t cost) {
  if (!receive_window_.done(cost)) return;
  if (has_room_ && is_established()) send_control(head_for(Kind::credit));
}

void Link::say_bye() {
  is_bye_said_ = true;
  send_control(head_for(Kind::bye));
  if (is_bye_heard_) answer_bye();
}

void Link::answer_bye() {
  LinkHead answer = head_for(Kind::bye);
  answer.aux = 1;
  send_control(answer);
}

namespace internal {
namespace {

class ChunkOwner final : public BufferOwner {
 public:
  ChunkOwner(std::size_t size, Buffer whole, std::shared_ptr<ChunkGate> gate)
      : size_(size), whole_(std::move(whole)), gate_(std::move(gate)) {}

 private:
  void dispose() noexcept override {
    const std::unique_ptr<ChunkOwner> self(this);
    ChunkGate& gate = *gate_;
    if (gate.loop.is_held()) return gate.released(size_);
    gate.loop.post([kept = std::move(gate_), size = size_] { kept->released(size); });
  }

  std::size_t size_;
  Buffer whole_;
  std::shared_ptr<ChunkGate> gate_;
};

}  // namespace

Buffer make_chunk(std::span<const std::byte> bytes, Buffer whole, std::shared_ptr<ChunkGate> gate) {
  auto owner = std::make_unique<ChunkOwner>(bytes.size(), std::move(whole), std::move(gate));
  return {bytes, owner.release()};
}

// Only notes it: whoever lets go may be in the middle of anything.
void ChunkGate::released(std::size_t bytes) {
  if (link == nullptr) return;
  link->chunks_out_ -= bytes;
  loop.flush_soon(*link);
}

}  // namespace internal
}  // namespace muster::net
