// Memory that the processes of a benchmark share, mapped before the fork.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <utility>

namespace muster::bench {

class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// One T in shared memory. T needs no destructor.
template <class T>
class Shared {
 public:
  Shared() : memory_(sizeof(T)), value_(new(memory_.bytes().data()) T{}) {}
  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  SharedMemory memory_;
  T* value_;
};

// Where one process says a line of text (an address, say) that others wait for.
// Waiting naps instead of spinning or blocking in a futex: this is for setting
// up, and std::atomic's own wait() works only inside one process.
class Notice {
 public:
  void post(const std::string& text);
  std::string wait() const;

 private:
  std::atomic<bool> posted_{false};
  char text_[256] = {};
};

// Lets `parties` processes start at the same time.
class Gate {
 public:
  void arrive_and_wait(std::uint32_t parties);

 private:
  std::atomic<std::uint32_t> arrived_{0};
};

}  // namespace muster::bench
