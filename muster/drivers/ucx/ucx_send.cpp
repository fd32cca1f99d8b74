// The sending half of a connection.

#include <algorithm>
#include <string>

#include "muster/drivers/ucx/ucx_connection.h"

namespace muster::drivers::ucx {

Result<WritableBuffer> UcxConnection::allocate(std::size_t size) {
  WritableBuffer memory = hub_.pool().take(size);
  if (memory.data() == nullptr && size > 0) return Error(Code::overloaded, "no memory for a body");
  return memory;
}

Status UcxConnection::send(wire::Frame& frame) {
  hub_.loop().check_held();
  if (state_ == State::ended) return Error(Code::unavailable, "the connection has ended");
  if (frame.parts.size() > wire::kMaxParts) {
    return Error(Code::invalid, "a frame of " + std::to_string(frame.parts.size()) +
                                    " parts, at most " + std::to_string(wire::kMaxParts) +
                                    " go at once; join some");
  }
  const std::uint64_t body = frame.body_size();
  if (body > kMostBody) {
    return Error(Code::invalid, "a frame of " + std::to_string(body) + " bytes, at most " +
                                    std::to_string(kMostBody) + " go at once; send several");
  }
  const std::size_t limit = hub_.options().queue_limit;
  if (account_->bytes > limit || turn_bytes_ > limit) {
    wants_room_ = true;
    return Error(Code::overloaded, "too many bytes wait to be sent");
  }
  if (state_ == State::open) {
    transmit(frame);
  } else {
    account_->bytes += record_size(frame) + body;
    waiting_.push_back(std::move(frame));
  }
  return ok();
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
  if (account_->bytes > 0) hub_.make_hot(*pair_);
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
