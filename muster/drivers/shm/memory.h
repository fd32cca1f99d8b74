// Anonymous memory that two processes share, sealed so that neither can pull it
// from under the other.

#pragma once

#include <cstddef>
#include <utility>

#include "muster/base/descriptor.h"
#include "muster/base/result.h"

namespace muster::drivers::shm {

// Shared memory, mapped for reading and writing; unmapped when it goes.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Memory();

  // Fresh zeroed memory of `size` bytes; pages cost nothing until touched.
  // The descriptor is for handing on.
  static Result<std::pair<Memory, Descriptor>> create(const char* name, std::size_t size);
  // A peer's. Code::invalid if it is not sealed against shrinking, or is not
  // of `size`: touching it could then end this process.
  static Result<Memory> open(const Descriptor& descriptor, std::size_t size);

  std::byte* data() const { return data_; }

 private:
  Memory(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace muster::drivers::shm
