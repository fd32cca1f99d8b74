// Packets: how frames lie in messages of libzmq.
//
// The first part of a message is a packet: one byte that says its kind, then
// whole frames one after the other, as on a byte stream. Parts of a frame from
// kOwnPart bytes on are not in the packet: each is a further part of the
// message, in order, so that nobody copies it. docs/reference/wire.md has the
// bytes. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "muster/base/buffer_pool.h"
#include "muster/base/result.h"
#include "muster/drivers/zmq/message.h"
#include "muster/net/driver.h"

namespace muster::drivers::zmq {

enum class PacketKind : std::uint8_t {
  hello = 1,    // The dialer's first; kHello follows.
  frames = 2,   // Whole frames.
  goodbye = 3,  // The last: the other side is to hang up.
  probe = 4,    // Says nothing; only shows whether it can be sent.
};

// Parts from this size on are messages' parts of their own.
inline constexpr std::size_t kOwnPart = std::size_t{16} << 10;
// A packet is full from this size on.
inline constexpr std::size_t kFullPacket = std::size_t{32} << 10;
// The most bytes of parts in one frame: little enough that others overtake a
// large body soon, and that whatever libzmq holds stays small.
inline constexpr std::size_t kMaxBody = std::size_t{256} << 10;
// What libzmq may take from the wire as one part.
inline constexpr std::size_t kMaxMessage = kMaxBody + 4 * kFullPacket;

struct Packet {
  std::vector<std::byte> bytes;
  std::vector<Buffer> parts;
  std::size_t size = 0;  // Of all of it, also once the parts have gone.
  std::uint64_t frames = 0;
  std::uint64_t body = 0;  // Bytes of the frames' parts.
};

// A packet of that kind that holds no frames.
Packet make_packet(PacketKind kind);
// True if `bytes` are a hello of this version.
bool is_hello(std::span<const std::byte> bytes);
// Nothing if `bytes` are no packet.
Result<PacketKind> kind_of(std::span<const std::byte> bytes);

// What waits to be handed to libzmq.
class PacketQueue {
 public:
  void push(wire::Frame& frame);
  bool empty() const { return packets_.empty(); }
  Packet& front() { return packets_.front(); }
  void pop();
  void clear();
  // Of all packets and parts.
  std::size_t bytes() const { return bytes_; }

 private:
  Packet& open_packet();

  std::deque<Packet> packets_;
  std::vector<std::byte> spare_;  // Memory for the next packet.
  std::size_t bytes_ = 0;
};

// Gives frames to a sink.
class PacketReader {
 public:
  explicit PacketReader(BufferPool& pool) : pool_(pool) {}

  // A packet of frames and the message's further parts. Code::invalid if they
  // are none, Code::overloaded if there is no memory for them; frames before the
  // fault have been delivered.
  Status read(std::span<const std::byte> packet, std::span<Message> parts, net::Sink& sink);

  // Nothing more is told to the sink. May be called from inside it.
  void stop() { is_stopped_ = true; }

  std::uint64_t frames() const { return frames_; }
  std::uint64_t body_bytes() const { return body_bytes_; }

 private:
  Result<std::size_t> read_frame(std::span<const std::byte> bytes, std::span<Message>& parts,
                                 net::Sink& sink);
  void hand_over(net::Sink& sink);
  Status check_sizes(std::span<const std::byte> sizes);
  Status fill(std::span<const std::byte> small, std::span<Message>& parts, net::Sink& sink);
  Result<Buffer> take_part(std::size_t index, Message& part, net::Sink& sink);

  BufferPool& pool_;
  wire::Frame frame_;
  std::vector<std::size_t> sizes_;
  std::size_t small_ = 0;    // Bytes of the parts that are in the packet,
  std::size_t aligned_ = 0;  // and of the block that they are put into.
  std::uint64_t frames_ = 0;
  std::uint64_t body_bytes_ = 0;
  bool is_stopped_ = false;
};

}  // namespace muster::drivers::zmq
