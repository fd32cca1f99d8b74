// Buffer: immutable bytes that many may share, whoever owns the memory.
//
// A Buffer never copies when it is copied, sliced or handed on; the last one to
// go tells the owner. Owners are the heap, a pool, an arena in shared memory,
// or an object of another language.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

// Keeps the memory behind Buffers alive. Starts with one reference, which
// belongs to whoever made it.
class BufferOwner {
 public:
  BufferOwner(const BufferOwner&) = delete;
  BufferOwner& operator=(const BufferOwner&) = delete;

  // Any thread.
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    // A sole holder needs no atomic decrement: nobody is left to race with.
    if (references_.load(std::memory_order_acquire) == 1 ||
        references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      dispose();
    }
  }
  bool is_unique() const { return references_.load(std::memory_order_acquire) == 1; }

  // Lets the maker of the memory know it again: equal for all its owners, and
  // null for memory that means nothing beyond this process.
  virtual const void* origin() const { return nullptr; }

 protected:
  BufferOwner() = default;
  ~BufferOwner() = default;

  // Makes an owner that is handed out again start afresh.
  void reset_references() { references_.store(1, std::memory_order_relaxed); }

 private:
  // No reference is left. Called on whichever thread let go last.
  virtual void dispose() noexcept = 0;

  std::atomic<std::uint32_t> references_{1};
};

class Buffer {
 public:
  Buffer() = default;
  // Takes over one reference of `owner`; null if the bytes outlive everything.
  Buffer(std::span<const std::byte> bytes, BufferOwner* owner)
      : data_(bytes.data()), size_(bytes.size()), owner_(owner) {}
  Buffer(const Buffer& other) : data_(other.data_), size_(other.size_), owner_(other.owner_) {
    if (owner_ != nullptr) owner_->retain();
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        owner_(std::exchange(other.owner_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (owner_ != nullptr) owner_->release();
  }

  // A copy of `bytes` on the heap.
  static Buffer copy_of(std::span<const std::byte> bytes);
  static Buffer copy_of(std::string_view text);
  static Buffer adopt(std::vector<std::byte> bytes);
  // Bytes that belong to `keeper`, which is let go with the last Buffer.
  static Buffer keep(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper);

  // `count` bytes from `offset` on; both are cut to what there is.
  Buffer slice(std::size_t offset, std::size_t count = SIZE_MAX) const;

  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owner_, other.owner_);
  }

  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  BufferOwner* owner() const { return owner_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  BufferOwner* owner_ = nullptr;
};

// Memory that one party fills before it becomes a Buffer.
class WritableBuffer {
 public:
  WritableBuffer() = default;
  // Takes over one reference of `owner`.
  WritableBuffer(std::span<std::byte> bytes, BufferOwner* owner) : bytes_(bytes), owner_(owner) {}
  WritableBuffer(WritableBuffer&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), owner_(std::exchange(other.owner_, nullptr)) {}
  WritableBuffer& operator=(WritableBuffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(owner_, other.owner_);
    return *this;
  }
  ~WritableBuffer() {
    if (owner_ != nullptr) owner_->release();
  }

  // Uninitialised memory on the heap.
  static WritableBuffer on_heap(std::size_t size);

  std::span<std::byte> bytes() const { return bytes_; }
  std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  BufferOwner* owner() const { return owner_; }

  // From here on nobody writes. The first `size` bytes are kept.
  Buffer freeze(std::size_t size = SIZE_MAX) && {
    const std::span<std::byte> kept = bytes_.first(size < bytes_.size() ? size : bytes_.size());
    bytes_ = {};
    return {kept, std::exchange(owner_, nullptr)};
  }

 private:
  std::span<std::byte> bytes_;
  BufferOwner* owner_ = nullptr;
};

}  // namespace muster
