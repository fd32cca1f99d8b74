// The sending half of a connection.

#include <array>

#include "muster/drivers/ucx/ucx_connection.h"
#include "muster/net/driver_limits.h"

namespace muster::drivers::ucx {
namespace {

// The most that UCX may take at once; how much it does depends on the fabric.
constexpr std::size_t kAtOnce = 256;

}  // namespace

Result<WritableBuffer> UcxConnection::allocate(std::size_t size) {
  return net::allocate_from(hub_.pool(), size);
}

Status UcxConnection::send(wire::Frame& frame) {
  hub_.loop().check_held();
  if (state_ == State::ended) return Error(Code::unavailable, "the connection has ended");
  MUSTER_TRY_OK(net::check_size(frame, kMostBody));
  const std::size_t limit = hub_.options().queue_limit;
  if (account_->bytes > limit || turn_bytes_ > limit) {
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

// For frames that UCX takes as they are, with nothing left to wait for. Those
// with large parts are longer.
bool UcxConnection::transmit_at_once(wire::Frame& frame, std::size_t size) {
  for (const Buffer& part : frame.parts) {
    if (travels_alone(part.size())) return false;
  }
  std::array<std::byte, kAtOnce> record;
  write_record(frame, record.data());
  if (!pair_->send_at_once({peer_key_, next_out_, 0}, std::span(record).first(size))) return false;
  ++next_out_;
  count_turn(size + frame.body_size());
  frame.parts.clear();
  return true;
}

// The record first, then each large part: the receiver relies on it.
void UcxConnection::transmit(wire::Frame& frame) {
  const std::size_t size = record_size(frame);
  if (size <= kAtOnce && transmit_at_once(frame, size)) return;
  std::unique_ptr<Outgoing> outgoing = pair_->take_outgoing();
  std::byte* at = outgoing->small.data();
  if (size > outgoing->small.size()) {
    outgoing->record = hub_.pool().take(size);
    at = outgoing->record.data();
    if (at == nullptr) return end(Error(Code::overloaded, "no memory for a frame"));
  }
  write_record(frame, at);
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

void UcxConnection::count_turn(std::size_t bytes) {
  if (turn_bytes_ == 0) hub_.loop().flush_later(turn_);
  turn_bytes_ += bytes;
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
