// TcpConnection: one connection, from dialling to its end.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "muster/drivers/tcp/busy_poller.h"
#include "muster/drivers/tcp/dialing.h"
#include "muster/drivers/tcp/frame_reader.h"
#include "muster/drivers/tcp/heat.h"
#include "muster/drivers/tcp/stream.h"
#include "muster/drivers/tcp/tcp_shared.h"
#include "muster/drivers/tcp/write_queue.h"
#include "muster/loop/loop.h"
#include "muster/net/driver.h"
#include "muster/net/flush_call.h"
#include "muster/net/gathering.h"

namespace muster::drivers::tcp {

using net::WriteGate;

class TcpConnection final : public net::Connection, loop::FdHandler, loop::Flusher, Pollable {
 public:
  // `peer` is for people.
  TcpConnection(TcpShared& shared, net::Address peer);
  ~TcpConnection() override;
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;

  // One of the two comes first: dial the peer, or take up a stream that is
  // connected. From then on `sink` hears.
  void dial(net::Sink& sink, bool encrypted);
  void take_up(std::unique_ptr<Stream> stream, net::Sink& sink);

  Status send(wire::Frame& frame) override;
  Status send_copy(std::span<const std::byte, wire::kUsualHead> head,
                   std::span<const std::byte> part) override;
  Result<WritableBuffer> allocate(std::size_t size) override;
  bool passes(const Buffer&) const override { return false; }
  bool lends() const override;
  Status lend(wire::Frame& frame) override;
  std::size_t max_body() const override { return max_body_; }
  void close() override;
  net::Peer peer() const override;

 private:
  enum class State : std::uint8_t { waiting, shaking_hands, open, ended };

  using Call = net::FlushCall<TcpConnection>;

  void on_ready(std::uint32_t events) override;
  void flush() override;
  bool look() override;
  bool is_worth_waiting_for() const override;
  bool is_better_late() const override { return reader_.is_inside_lent(); }

  void start_dialing();
  void shake_hands();
  void note_neighbour();
  void handshake_failed();
  bool has_another_key();
  void drop_stream();
  void watch_for(std::uint32_t events);

  // Reading. True if any bytes came.
  bool read();
  void read_more();
  Transfer read_once(std::size_t& asked);
  Status deliver(std::size_t bytes, std::size_t direct);

  // Writing.
  bool push_held(std::span<const std::byte> head, std::span<const std::byte> part);
  bool push_alone(std::span<const std::byte> head, std::span<const std::byte> part);
  Status push(wire::Frame& frame, bool lends = false);
  bool write();
  void write_held();
  void write_failed();
  void tell_room();
  bool has_room() const { return queue_.bytes() <= shared_.options.queue_limit / 2; }
  bool is_usable() const { return state_ != State::ended && !is_write_broken_; }
  Status check(const wire::Frame& frame) const;

  void end(Error why);
  void refuse(Error why);
  void tell_end();

  TcpShared& shared_;
  net::Address peer_;
  net::Sink* sink_ = nullptr;
  std::unique_ptr<Dialing> dialing_;
  std::unique_ptr<Stream> stream_;
  FrameReader reader_;
  WriteQueue queue_;
  net::Gathering<TcpConnection> gathering_;
  Heat heat_;
  Call room_;    // Due soon: tells the sink that there is room.
  Call more_;    // The same: reads what the stream has without the socket.
  Call again_;   // The same: dials once more.
  Call ending_;  // Due at the end of the turn: tells it that it is over.
  std::unique_ptr<loop::Timer> deadline_;  // While shaking hands takes its time.
  std::optional<Error> why_;
  std::size_t attempt_ = 0;  // Of those that the encryption allows.
  std::size_t max_body_ = kFarBody;
  std::uint32_t watched_ = 0;  // Events, of the stream's descriptor.
  State state_ = State::waiting;
  bool is_dialed_ = false;
  bool is_encrypted_ = false;     // If it was dialed.
  bool is_neighbour_ = false;     // Open, and the peer is on this machine.
  bool wants_room_ = false;       // The sink does, after a frame was refused.
  bool is_blocked_ = false;       // The socket takes nothing just now.
  bool is_write_broken_ = false;  // The peer takes nothing more; it may still have sent.
};

}  // namespace muster::drivers::tcp
