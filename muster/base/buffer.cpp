#include "muster/base/buffer.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "muster/base/small_block.h"

namespace muster {
namespace {

// One allocation: this object, then the bytes.
class HeapOwner final : public BufferOwner {
 public:
  static HeapOwner* make(std::size_t size) {
    void* memory = ::operator new(sizeof(HeapOwner) + size);
    return ::new (memory) HeapOwner;
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }

 private:
  void dispose() noexcept override {
    this->~HeapOwner();
    ::operator delete(static_cast<void*>(this));
  }
};

class VectorOwner final : public BufferOwner {
 public:
  explicit VectorOwner(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void dispose() noexcept override { std::default_delete<VectorOwner>()(this); }
  std::vector<std::byte> bytes_;
};

class KeeperOwner final : public BufferOwner {
 public:
  explicit KeeperOwner(std::shared_ptr<const void> keeper) : keeper_(std::move(keeper)) {}

 private:
  void dispose() noexcept override { std::default_delete<KeeperOwner>()(this); }
  std::shared_ptr<const void> keeper_;
};

}  // namespace

Buffer Buffer::copy_of(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  WritableBuffer out = bytes.size() <= kSmallBlock ? take_small_block(bytes.size())
                                                   : WritableBuffer::on_heap(bytes.size());
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return std::move(out).freeze();
}

Buffer Buffer::copy_of(std::string_view text) { return copy_of(std::as_bytes(std::span(text))); }

Buffer Buffer::adopt(std::vector<std::byte> bytes) {
  auto owner = std::make_unique<VectorOwner>(std::move(bytes));
  const std::span<const std::byte> view = owner->bytes();
  return {view, owner.release()};
}

Buffer Buffer::keep(std::span<const std::byte> bytes, std::shared_ptr<const void> keeper) {
  return {bytes, std::make_unique<KeeperOwner>(std::move(keeper)).release()};
}

Buffer Buffer::slice(std::size_t offset, std::size_t count) const {
  offset = std::min(offset, size_);
  count = std::min(count, size_ - offset);
  if (owner_ != nullptr) owner_->retain();
  return {std::span(data_ + offset, count), owner_};
}

WritableBuffer WritableBuffer::on_heap(std::size_t size) {
  if (size <= kSmallBlock) return take_small_block(size);
  HeapOwner* owner = HeapOwner::make(size);
  return {std::span(owner->bytes(), size), owner};
}

}  // namespace muster
