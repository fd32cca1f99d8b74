// ZmqConnection: one connection's queue, state and end, whichever side dialed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "muster/drivers/zmq/packet.h"
#include "muster/drivers/zmq/zmq_shared.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"
#include "muster/net/flush_call.h"
#include "muster/net/gathering.h"

namespace muster::drivers::zmq {

// How the packets of one connection leave: by a socket of its own, or by one
// that it shares.
class Line {
 public:
  virtual ~Line() = default;  // Leaves, if it has not.

  // Sent::full: ZmqConnection::on_writable() follows.
  virtual Sent send(Packet& packet) = 0;
  // A burst of sends is over.
  virtual void settle() = 0;
  // This side goes; nothing is sent, nor told to the connection, any more.
  virtual void leave() = 0;
};

class ZmqConnection final : public net::Connection, loop::Flusher {
 public:
  // `peer` is for people.
  ZmqConnection(ZmqShared& shared, net::Peer peer);
  ~ZmqConnection() override;
  ZmqConnection(const ZmqConnection&) = delete;
  ZmqConnection& operator=(const ZmqConnection&) = delete;

  void use(std::unique_ptr<Line> line) { line_ = std::move(line); }
  // From here on `sink` hears.
  void set_sink(net::Sink& sink) { sink_ = &sink; }
  // From here on packets leave.
  void stand();
  void on_writable();
  // A message came, of at least one part.
  void take(std::span<Message> parts);
  void end(Error why);
  bool has_ended() const { return state_ == State::ended; }
  bool is_blocked() const { return is_blocked_; }

  Status send(wire::Frame& frame) override;
  Result<WritableBuffer> allocate(std::size_t size) override;
  bool passes(const Buffer&) const override { return false; }
  std::size_t max_body() const override { return kMaxBody; }
  void close() override;
  net::Peer peer() const override { return peer_; }

 private:
  enum class State : std::uint8_t { waiting, open, ended };

  using Call = net::FlushCall<ZmqConnection>;

  void flush() override;
  void write();
  void write_held();
  void tell_room();
  void tell_end();
  void refuse(Error why);
  Status check(const wire::Frame& frame) const;
  Status take_frames(std::span<Message> parts);
  bool has_room() const { return queue_.bytes() <= shared_.options.queue_limit / 2; }

  ZmqShared& shared_;
  net::Peer peer_;
  net::Sink* sink_ = nullptr;
  std::unique_ptr<Line> line_;
  PacketReader reader_;
  PacketQueue queue_;
  net::Gathering<ZmqConnection> gathering_;
  Call room_;    // Due soon: tells the sink that there is room.
  Call ending_;  // Due at the end of the turn: tells it that it is over.
  std::optional<Error> why_;
  State state_ = State::waiting;
  bool wants_room_ = false;  // The sink does, after a frame was refused.
  bool is_blocked_ = false;  // libzmq takes nothing just now.
};

}  // namespace muster::drivers::zmq
