// FrameReader: from a stream of bytes, cut anywhere, to whole frames.
//
// Small frames are parsed where they were read. Bytes of a large part can be
// received straight into the memory where they belong. Limits are checked
// before anything is allocated or asked of the sink. Pure: it reads nothing.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muster/base/buffer_pool.h"
#include "muster/base/result.h"
#include "muster/net/driver.h"
#include "muster/wire/brief_frame.h"
#include "muster/wire/frame.h"

namespace muster::drivers::tcp {

class FrameReader {
 public:
  // Frames with more than `max_body` bytes in all their parts are refused.
  FrameReader(BufferPool& pool, std::size_t max_body) : pool_(pool), max_body_(max_body) {}

  // Takes all of `bytes`, and calls `sink` for what they complete. Code::invalid
  // if they are no frames, Code::overloaded if there is no memory for them;
  // the reader is of no use any more then.
  Status take(std::span<const std::byte> bytes, net::Sink& sink);

  // Where the next bytes of the stream belong, if that is inside a large
  // part; else empty. Whoever puts some there says so with put().
  std::span<std::byte> wanted() const;
  void put(std::size_t bytes, net::Sink& sink);
  // True inside a large part that its sender lends.
  bool is_inside_lent() const { return is_filling_ && is_lent_; }

  // Nothing more is taken, nor told to the sink. May be called from inside it.
  void stop() { is_stopped_ = true; }

  bool is_stopped() const { return is_stopped_; }
  // True in the middle of a frame.
  bool is_inside() const { return is_filling_ || !opening_.empty(); }
  // True if one of the last few frames had a large part: more of them may follow. Between
  // two that belong together stand those which announce them, or are in a hurry.
  bool expects_large() const { return since_large_ < kExpected; }

 private:
  Result<std::size_t> open(std::span<const std::byte> bytes, net::Sink& sink);
  std::size_t take_small(std::span<const std::byte> bytes, net::Sink& sink);
  Result<std::size_t> open_from_pieces(std::span<const std::byte> bytes, net::Sink& sink);
  Result<std::size_t> opening_size(const std::byte* first) const;
  Status begin(const std::byte* opening, net::Sink& sink);
  void begin_brief(const wire::Brief& brief, const std::byte* words);
  // What has fewer bytes is small, and allowed.
  std::uint64_t small_limit() const {
    return std::min<std::uint64_t>(net::kLargePart, max_body_ + 1);
  }
  Status check_sizes(std::span<const std::byte> sizes);
  Status find_memory(net::Sink& sink);
  std::size_t fill(std::span<const std::byte> bytes);
  void finish_if_full(net::Sink& sink);

  static constexpr std::uint32_t kExpected = 8;

  BufferPool& pool_;
  std::size_t max_body_;
  std::vector<std::byte> opening_;  // Prefix, sizes and head, as far as they have come.

  wire::Head before_;  // Of the frame that was opened last.
  wire::Frame frame_;
  std::vector<std::span<std::byte>> targets_;  // What is still to be filled of each part.
  std::size_t target_ = 0;                     // The one that is being filled.
  std::size_t small_ = 0;                      // Bytes of the block for the small parts.
  bool is_filling_ = false;
  bool is_large_ = false;
  bool is_lent_ = false;
  std::uint32_t since_large_ = kExpected;  // Small frames, as far as that matters.
  bool is_stopped_ = false;
};

}  // namespace muster::drivers::tcp
