// The parts of a frame: a vector that keeps the first few inside itself.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "muster/base/buffer.h"

namespace muster::wire {

// What it does not hold costs nothing: most frames have one part, and are made and
// gone within a few hundred instructions.
class Parts {
 public:
  Parts() {}  // NOLINT(modernize-use-equals-default): what it has room for is not made.
  Parts(Parts&& other) noexcept { take(other); }
  Parts& operator=(Parts&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  Parts(const Parts& other) { copy(other); }
  Parts& operator=(const Parts& other) {
    if (this != &other) {
      clear();
      copy(other);
    }
    return *this;
  }
  [[gnu::always_inline]] ~Parts() {
    if (count_ > 0 || !is_inline()) drop();
  }

  void push_back(Buffer part) {
    if (count_ == room_) [[unlikely]]
      grow();
    std::construct_at(first_ + count_, std::move(part));
    ++count_;
  }
  void clear() {
    std::destroy_n(first_, count_);
    count_ = 0;
  }

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Buffer* begin() { return first_; }
  Buffer* end() { return first_ + count_; }
  const Buffer* begin() const { return first_; }
  const Buffer* end() const { return first_ + count_; }
  Buffer& operator[](std::size_t i) { return first_[i]; }
  const Buffer& operator[](std::size_t i) const { return first_[i]; }

 private:
  static constexpr std::size_t kInline = 2;

  bool is_inline() const { return room_ == kInline; }
  Buffer* inside() { return inside_.data(); }

  // Takes what another holds, into one that holds nothing.
  void take(Parts& other) {
    if (other.is_inline()) {
      std::uninitialized_move_n(other.first_, other.count_, first_);
      count_ = other.count_;
      other.clear();
    } else {
      first_ = std::exchange(other.first_, other.inside());
      room_ = std::exchange(other.room_, kInline);
      count_ = std::exchange(other.count_, 0);
    }
  }
  void copy(const Parts& other) {
    for (const Buffer& part : other) push_back(part);
  }
  // Holds nothing, inside itself.
  void drop() {
    clear();
    if (is_inline()) return;
    std::allocator<Buffer>().deallocate(std::exchange(first_, inside()),
                                        std::exchange(room_, kInline));
  }
  void grow();

  std::size_t count_ = 0;
  std::size_t room_ = kInline;
  Buffer* first_ = inside();
  union {
    std::array<Buffer, kInline> inside_;  // Only the first count_ of them are there.
  };
};

}  // namespace muster::wire
