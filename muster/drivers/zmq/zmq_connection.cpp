#include "muster/drivers/zmq/zmq_connection.h"

#include <utility>

#include "muster/net/driver_limits.h"

namespace muster::drivers::zmq {

ZmqConnection::ZmqConnection(ZmqShared& shared, net::Peer peer)
    : shared_(shared),
      peer_(std::move(peer)),
      reader_(shared.pool),
      gathering_(shared.loop, *this, &ZmqConnection::write_held),
      room_(*this, &ZmqConnection::tell_room),
      ending_(*this, &ZmqConnection::tell_end) {}

ZmqConnection::~ZmqConnection() {
  end(Error(Code::cancelled, "destroyed"));
  shared_.loop.forget(ending_);
}

void ZmqConnection::stand() {
  if (state_ != State::waiting) return;
  state_ = State::open;
  if (!queue_.empty()) shared_.loop.flush_later(*this);
}

Status ZmqConnection::send(wire::Frame& frame) {
  shared_.loop.check_held();
  MUSTER_TRY_OK(check(frame));
  if (queue_.bytes() >= shared_.options.queue_limit) {
    wants_room_ = true;
    return Error(Code::overloaded, "the connection's queue is full");
  }
  queue_.push(frame);
  if (!gathering_.holds(queue_.bytes())) shared_.loop.flush_later(*this);
  return ok();
}

Status ZmqConnection::check(const wire::Frame& frame) const {
  if (state_ == State::ended) return Error(Code::unavailable, "the connection has ended");
  return net::check_size(frame, kMaxBody);
}

Result<WritableBuffer> ZmqConnection::allocate(std::size_t size) {
  return net::allocate_from(shared_.pool, size);
}

void ZmqConnection::flush() {
  if (state_ != State::open || is_blocked_ || queue_.empty()) return;
  if (gathering_.may_write(queue_.bytes())) write();
}

void ZmqConnection::write_held() {
  if (state_ == State::open && !is_blocked_) write();
}

void ZmqConnection::on_writable() {
  if (!is_blocked_ || state_ != State::open) return;
  is_blocked_ = false;
  if (!queue_.empty()) write();
}

// Hands over as much as libzmq takes.
void ZmqConnection::write() {
  while (!queue_.empty() && !is_blocked_) {
    switch (line_->send(queue_.front())) {
      case Sent::all:
        shared_.count_sent(queue_.front().frames, queue_.front().body);
        queue_.pop();
        break;
      case Sent::full: is_blocked_ = true; break;
      case Sent::gone: return end(Error(Code::unavailable, "the connection is lost"));
    }
  }
  line_->settle();
  if (state_ != State::open) return;  // It was found to be lost.
  // Not at the end of this turn: a sink that fills the queue each time would
  // never let it end.
  if (wants_room_ && has_room()) shared_.loop.flush_soon(room_);
}

void ZmqConnection::tell_room() {
  if (!wants_room_ || !has_room()) return;
  wants_room_ = false;
  sink_->on_room();
}

void ZmqConnection::take(std::span<Message> parts) {
  if (state_ == State::ended) return;
  gathering_.was_read();
  shared_.vigil.saw();
  const Result<PacketKind> kind = kind_of(parts.front().bytes());
  if (!kind) return refuse(kind.error());
  switch (*kind) {
    case PacketKind::hello: return refuse(Error(Code::invalid, "a second hello"));
    case PacketKind::goodbye: return end(Error(Code::unavailable, "connection closed by peer"));
    case PacketKind::probe: return;
    case PacketKind::frames:
      if (Status taken = take_frames(parts); !taken) refuse(std::move(taken).error());
  }
}

Status ZmqConnection::take_frames(std::span<Message> parts) {
  const std::uint64_t frames = reader_.frames();
  const std::uint64_t bytes = reader_.body_bytes();
  Status taken = reader_.read(parts.front().bytes(), parts.subspan(1), *sink_);
  shared_.count_received(reader_.frames() - frames, reader_.body_bytes() - bytes);
  return taken;
}

// The peer does not speak as it should.
void ZmqConnection::refuse(Error why) {
  if (state_ == State::ended) return;
  shared_.warn("connection refused after bad bytes",
               "peer " + peer_.address + "  why " + why.message());
  end(std::move(why));
}

void ZmqConnection::close() {
  shared_.loop.check_held();
  end(Error(Code::cancelled, "closed on this side"));
}

void ZmqConnection::end(Error why) {
  if (state_ == State::ended) return;
  state_ = State::ended;
  why_ = std::move(why);
  reader_.stop();
  shared_.loop.forget(*this);
  gathering_.stop();
  shared_.loop.forget(room_);
  queue_.clear();
  if (line_) line_->leave();
  shared_.loop.flush_later(ending_);
}

void ZmqConnection::tell_end() {
  if (sink_ != nullptr) sink_->on_closed(*std::move(why_));
}

}  // namespace muster::drivers::zmq
