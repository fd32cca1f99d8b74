// RingQueue: first in, first out, in memory that is kept: once warm, no allocation.

#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace muster::msg {

template <class T>
class RingQueue {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  T& front() { return slots_[head_]; }

  // A place at the end, to be filled: as it was when it was last moved from.
  T& add() {
    if (count_ == slots_.size()) grow();
    return slots_[(head_ + count_++) & (slots_.size() - 1)];
  }
  void push(T item) { add() = std::move(item); }
  // What is moved from must hold on to nothing.
  T pop() {
    T item = std::move(slots_[head_]);
    head_ = (head_ + 1) & (slots_.size() - 1);
    --count_;
    return item;
  }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 16 : 2 * slots_.size());
    for (std::size_t i = 0; i < count_; ++i) {
      larger[i] = std::move(slots_[(head_ + i) & (slots_.size() - 1)]);
    }
    slots_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> slots_;  // A power of two.
  std::size_t head_ = 0;
  std::size_t count_ = 0;
};

}  // namespace muster::msg
