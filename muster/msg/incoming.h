// A message that has come: what is behind every Message.
//
// Whoever takes it hands on a pointer, and nothing of it is copied, from where it
// arrives to where the program lets go of it.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "muster/base/buffer.h"
#include "muster/base/clock.h"
#include "muster/base/spare_memory.h"
#include "muster/msg/ids.h"
#include "muster/msg/message_codec.h"
#include "muster/msg/message_head.h"
#include "muster/wire/value.h"

namespace muster::msg {

// Who speaks to whom. All messages of a link share one.
class Names {
 public:
  Names() = default;
  Names(std::string_view source, std::string_view destination);

  std::string_view source() const { return both_.text().substr(0, source_size_); }
  Buffer source_buffer() const { return both_.slice(0, source_size_); }
  std::string_view destination() const { return both_.text().substr(source_size_); }

 private:
  Buffer both_;  // One after the other: one count to keep, and not two.
  std::size_t source_size_ = 0;
};

struct Incoming {
  MessageHead head;
  Priority priority = Priority::normal;
  // As it came, until it is looked into; what is left encoded stays here.
  EncodedBody encoded;
  wire::Value body;
  bool is_left_encoded = false;
  // Not said by the message, but known of it: how far it was answered.
  mutable std::atomic<std::uint8_t> answered{0};
  mutable std::atomic<std::uint32_t> holders{1};
  PeerId peer;
  Names names;
  TimePoint deadline = kForever;
  // What its link is to be told once it no longer waits, and which link that is.
  std::size_t owed = 0;
  std::uint64_t link = 0;

  std::size_t size() const {
    std::size_t sum = sizeof(Incoming);
    for (const Buffer& part : encoded.parts) sum += part.size();
    return sum;
  }

  static constexpr std::size_t kSpare = 2;
  static void* operator new(std::size_t) { return take_spare(kSpare); }
  static void operator delete(void* memory) { give_spare(memory, kSpare); }
};
static_assert(sizeof(Incoming) <= kSpareSizes[Incoming::kSpare]);

// Holds an Incoming, with others who do. Until it has become a Message there is one
// holder, who may change it.
class IncomingPtr {
 public:
  IncomingPtr() = default;  // None.
  static IncomingPtr make() { return IncomingPtr(new Incoming); }

  IncomingPtr(IncomingPtr&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  IncomingPtr(const IncomingPtr& other) : held_(other.held_) {
    if (held_ != nullptr) held_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  IncomingPtr& operator=(IncomingPtr other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~IncomingPtr() {
    if (held_ != nullptr) let_go();
  }

  Incoming& operator*() const { return *held_; }
  Incoming* operator->() const { return held_; }
  explicit operator bool() const { return held_ != nullptr; }

 private:
  explicit IncomingPtr(Incoming* held) : held_(held) {}

  void let_go() {
    // The last of them need not count: nobody is left to race with.
    if (held_->holders.load(std::memory_order_acquire) == 1 ||
        held_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete held_;
    }
  }

  Incoming* held_ = nullptr;
};

}  // namespace muster::msg
