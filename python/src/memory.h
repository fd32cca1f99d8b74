// Memory: a Buffer that Python can look at, and Python's memory as Buffers.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "binding.h"
#include "muster/base/buffer.h"

namespace muster::python {

// What arrays that came, and those of muster.empty(), stand upon. Exports the
// buffer protocol. Left alone in a forked child, whose it is not.
class Memory {
 public:
  // Of a message that came: read-only.
  explicit Memory(Buffer buffer);
  // To be filled: writable until it is frozen, as when it is sent.
  explicit Memory(WritableBuffer buffer);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const Buffer& buffer() const { return buffer_; }
  bool is_writable() const { return is_writable_; }
  void freeze() { is_writable_ = false; }
  // Of what was frozen, and nobody has got.
  void thaw() { is_writable_ = true; }

 private:
  Buffer buffer_;
  bool is_writable_ = false;
  std::uint32_t forks_;
};

// The buffers of one call that still refer to memory of Python's. Any thread.
class Loan {
 public:
  void lend() { left_.fetch_add(1); }
  void give_back();
  bool is_out() const { return left_.load() == 0; }
  // Calls `action` once nothing is lent any more, at once if nothing is.
  void when_out(std::function<void()> action);

 private:
  std::atomic<int> left_{0};
  std::mutex mutex_;
  std::vector<std::function<void()>> actions_;
};
using Borrowed = std::shared_ptr<Loan>;

// The bytes of `object` itself; it lives until the last Buffer has gone. For
// what nobody may change, or whose owner waits until `borrowed` is out.
Buffer borrow_bytes(std::span<const std::byte> bytes, nb::object object, const Borrowed& borrowed);

// Bytes, as a new object of Python's.
nb::object to_memory(Buffer buffer);
// A bytes object, which has its bytes inside: a copy. Null: Python's own error is set.
PyObject* to_bytes(const Buffer& buffer);
// Null if `object` is none.
Memory* as_memory(nb::handle object);

void bind_memory(nb::module_& module);

}  // namespace muster::python
