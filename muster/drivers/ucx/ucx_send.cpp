// The sending half of a connection.

#include <array>

#include "muster/drivers/ucx/ucx_connection.h"
#include "muster/net/driver_limits.h"

namespace muster::drivers::ucx {
Result<WritableBuffer> UcxConnection::allocate(std::size_t size) {
  return net::allocate_from(hub_.pool(), size);
}

Status UcxConnection::send(wire::Frame& frame) {
  hub_.loop().check_held();
  if (state_ == State::open && transmit_at_once(frame)) return ok();
  if (state_ == State::ended) return Error(Code::unavailable, "the connection has ended");
  MUSTER_TRY_OK(net::check_size(frame, kMostBody));
  if (is_full()) {
    wants_room_ = true;
    return Error(Code::overloaded, "too many bytes wait to be sent");
  }
  if (state_ == State::open) {
    transmit(frame);
  } else {
    account_->bytes += record_size(frame) + frame.body_size();
    waiting_.push_back(std::move(frame));
  }
  return ok();
}

// For frames that UCX takes as they are, with nothing left to wait for.
bool UcxConnection::transmit_at_once(wire::Frame& frame) {
  if (is_full()) return false;
  std::array<std::byte, kShortRecord> record;
  const std::size_t size = write_short_record(frame, peer_key_, next_out_, record);
  if (size == 0 || !pair_->send_at_once(std::span(record).first(size))) return false;
  ++next_out_;
  count_turn(size);
  frame.parts.clear();
  return true;
}

// The record first, then each large part: the receiver relies on it.
void UcxConnection::transmit(wire::Frame& frame) {
  const std::size_t size = record_size(frame);
  std::unique_ptr<Outgoing> outgoing = pair_->take_outgoing();
  std::byte* at = outgoing->small.data();
  if (size > outgoing->small.size()) {
    outgoing->record = hub_.pool().take(size);
    at = outgoing->record.data();
    if (at == nullptr) return end(Error(Code::overloaded, "no memory for a frame"));
  }
  write_record(frame, peer_key_, next_out_, at);
  count_turn(size + frame.body_size());
  const MessageHeader header{peer_key_, next_out_++, 0};
  outgoing->header = header;
  outgoing->account = account_;
  pair_->send(UcxPair::Kind::record, std::move(outgoing), {at, size});
  for (std::size_t i = 0; i < frame.parts.size(); ++i) {
    if (!travels_alone(frame.parts[i].size())) continue;
    outgoing = pair_->take_outgoing();
    outgoing->header = {header.key, header.sequence, static_cast<std::uint32_t>(i)};
    outgoing->account = account_;
    outgoing->part = std::move(frame.parts[i]);
    const std::span<const std::byte> bytes = outgoing->part.bytes();
    pair_->send(UcxPair::Kind::part, std::move(outgoing), bytes);
  }
  if (account_->bytes > 0) hub_.look_after(*pair_);
  frame.parts.clear();
}

// Small frames go for long before the end of a turn is worth hearing of.
void UcxConnection::count_turn(std::size_t bytes) {
  turn_bytes_ += bytes;
  if (turn_bytes_ > hub_.options().queue_limit / 2) hub_.loop().flush_later(turn_);
}

void UcxConnection::end_turn() {
  turn_bytes_ = 0;
  on_sent();
}

void UcxConnection::on_sent() {
  if (wants_room_ && state_ == State::open && has_room()) hub_.loop().flush_soon(room_);
}

void UcxConnection::tell_room() {
  if (!wants_room_ || state_ != State::open || !has_room()) return;
  wants_room_ = false;
  sink_->on_room();
}

}  // namespace muster::drivers::ucx
