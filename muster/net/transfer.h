// Transfers: a large message is offered, granted, and then sent in chunks that
// land where the receiver wants them. Pure, but for the memory.
//
// Small parts, and those that pass by reference, ride along with the offer.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "muster/base/buffer.h"
#include "muster/base/result.h"
#include "muster/wire/frame.h"

namespace muster::net {

// How much of a body that is lent is copied, and leaves only when the receiver has said that
// it has all before: what it reads of memory that the sender has got back is never whole.
inline constexpr std::uint64_t kCopiedEnd = std::uint64_t{4} << 10;

// The sender's side. Knows the message only by its parts, which stay with
// whoever queues it.
class OutgoingTransfer {
 public:
  struct Chunk {
    std::uint32_t part = 0;
    std::uint64_t offset = 0;
    std::span<const std::byte> bytes;
  };

  // `passes(i)`: part i travels by reference.
  OutgoingTransfer(std::uint64_t id, const wire::Parts& parts, std::size_t chunk_size,
                   const std::function<bool(std::size_t)>& passes);

  std::uint64_t id() const { return id_; }

  // Has it pause before the last bytes, kCopiedEnd of them or less. Before the first chunk.
  void pause_before_end();
  // After so many bytes in chunks it waits until the receiver has said that it has them; 0
  // if it does not.
  std::uint64_t pause() const { return pause_; }
  bool is_before_pause() const { return done_ < pause_; }
  bool is_at_pause() const { return pause_ > 0 && done_ == pause_; }

  // The parts of the offer's frame: the list of sizes, then what rides along.
  wire::Parts offer(const wire::Parts& parts) const;

  // The next chunk, on one side of the pause; there is one until is_sent().
  Chunk peek(const wire::Parts& parts) const;
  void advance(const Chunk& chunk, const wire::Parts& parts);
  bool is_sent() const { return at_ == bulk_.size(); }

 private:
  std::uint64_t id_;
  std::size_t chunk_size_;
  std::vector<std::uint32_t> bulk_;  // Indices of the parts that go in chunks.
  std::size_t at_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;  // That go in chunks,
  std::uint64_t done_ = 0;   // of which so many were taken.
  std::uint64_t pause_ = 0;
};

// The receiver's side. Nothing the peer says is believed.
class IncomingTransfer {
 public:
  // Finds memory for a part; empty if there is none.
  using Allocate = std::function<WritableBuffer(std::size_t part, std::uint64_t size)>;

  // Reads the parts of an offer's frame, and takes them over. Code::invalid if
  // they make no sense or ask for more than `max_body` in all.
  static Result<IncomingTransfer> read(std::uint64_t id, wire::Parts parts, std::uint64_t max_body);

  // Code::overloaded if there is no memory; what was found is let go.
  Status allocate(const Allocate& find);

  // Where a chunk's bytes belong, kept alive by itself; empty if it has no place.
  WritableBuffer place(std::size_t part, std::uint64_t offset, std::uint64_t size) const;

  // A chunk came, in place or elsewhere. Code::invalid unless it continues
  // exactly where the last one ended.
  Status accept(std::size_t part, std::uint64_t offset, const Buffer& bytes);

  bool is_whole() const { return at_ == pieces_.size(); }
  // The parts of the message, once it is whole.
  wire::Parts take();

  std::uint64_t id() const { return id_; }
  // How many bytes come in chunks, and how many of them have come.
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t received() const { return received_; }
  bool is_granted() const { return is_granted_; }

 private:
  struct Piece {
    std::uint64_t size = 0;
    bool rides = false;
    Buffer whole;           // If it rides.
    WritableBuffer memory;  // If it comes in chunks.
  };

  IncomingTransfer() = default;
  void skip_finished();

  std::uint64_t id_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t received_ = 0;
  bool is_granted_ = false;
  std::vector<Piece> pieces_;
  std::size_t at_ = 0;        // The part that is being received,
  std::uint64_t offset_ = 0;  // and how much of it is there.
};

// So much of small parts rides along with an offer.
inline constexpr std::size_t kRidingPart = std::size_t{4} << 10;
inline constexpr std::size_t kRidingParts = std::size_t{16} << 10;

}  // namespace muster::net
