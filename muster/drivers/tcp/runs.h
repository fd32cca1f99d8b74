// Walks over runs of bytes, as readv() and writev() are given them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <sys/uio.h>

namespace muster::drivers::tcp {

// Bytes to be read.
class Cursor {
 public:
  Cursor(std::span<const iovec> runs, std::size_t skipped) : runs_(runs) { skip(skipped); }

  bool at_end() const { return runs_.empty(); }
  // What is left of the run where it stands.
  std::span<const std::byte> here() const {
    return {static_cast<const std::byte*>(runs_[0].iov_base) + used_, runs_[0].iov_len - used_};
  }
  void skip(std::size_t bytes) {
    while (!runs_.empty() && bytes >= runs_[0].iov_len - used_) {
      bytes -= runs_[0].iov_len - used_;
      runs_ = runs_.subspan(1);
      used_ = 0;
    }
    used_ += bytes;
  }
  // Copies up to `size` bytes, and skips them. Stops before a run of `large` bytes.
  std::size_t copy(std::byte* to, std::size_t size, std::size_t large = SIZE_MAX) {
    std::size_t copied = 0;
    while (copied < size && !at_end() && here().size() < large) {
      const auto from = here().first(std::min(here().size(), size - copied));
      std::memcpy(to + copied, from.data(), from.size());
      copied += from.size();
      skip(from.size());
    }
    return copied;
  }

 private:
  std::span<const iovec> runs_;
  std::size_t used_ = 0;
};

// Memory to be filled.
class Room {
 public:
  explicit Room(std::span<const iovec> runs) : rest_(runs, 0) {
    for (const iovec& run : runs) left_ += run.iov_len;
  }

  std::size_t left() const { return left_; }
  std::size_t filled() const { return filled_; }
  // What is left of the run where it stands.
  std::span<std::byte> here() const {
    if (rest_.at_end()) return {};
    return {const_cast<std::byte*>(rest_.here().data()), rest_.here().size()};
  }
  void skip(std::size_t bytes) {
    rest_.skip(bytes);
    left_ -= bytes;
    filled_ += bytes;
  }
  // How many of `bytes` it had room for.
  std::size_t fill(std::span<const std::byte> bytes) {
    std::size_t filled = 0;
    while (filled < bytes.size() && left_ > 0) {
      const std::size_t count = std::min(here().size(), bytes.size() - filled);
      std::memcpy(here().data(), bytes.data() + filled, count);
      skip(count);
      filled += count;
    }
    return filled;
  }

 private:
  Cursor rest_;
  std::size_t left_ = 0;
  std::size_t filled_ = 0;
};

}  // namespace muster::drivers::tcp
