// Large bodies: what is in them, and how a receiver verifies them.
//
// A word at the start of every 4 KiB page carries (message number, page
// number). The rest of a body is a fixed pattern, written once: it keeps the
// memory real without making the sender's rewriting part of the measurement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace muster::bench {

inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kLargeBody = std::size_t{64} << 20;
inline constexpr std::size_t kHugeBody = std::size_t{256} << 20;

// Private memory for a large body, as array libraries have it: in huge pages where the
// system gives them on request.
class BodyBuffer {
 public:
  BodyBuffer();
  ~BodyBuffer();
  BodyBuffer(const BodyBuffer&) = delete;
  BodyBuffer& operator=(const BodyBuffer&) = delete;

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(at_), kLargeBody}; }

 private:
  void* at_;
};

// Touches every page and writes the pattern; once per buffer.
void fill_body(std::span<std::byte> body);

// The same where it was not done before: for memory that may be new each time.
void fill_new_pages(std::span<std::byte> body);

// Writes the page words for message `number`; before each send.
void stamp_body(std::span<std::byte> body, std::uint64_t number);

// Fails the program unless every page word is that of message `number`, and one more word
// of each page, another for each message, as fill_body() left it.
void verify_body(std::span<const std::byte> body, std::uint64_t number);

// Reads every word and fails the program unless all of them are as fill_body()
// and stamp_body() left them: for receivers that read a body where it lies.
void read_body(std::span<const std::byte> body, std::uint64_t number);

// The sum over all 64-bit words, at the speed of the memory.
std::uint64_t sum_words(std::span<const std::byte> body);

}  // namespace muster::bench
