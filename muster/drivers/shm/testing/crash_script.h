// What two processes say to each other while one of them may die: a use of each
// part of the protocol, the same from both sides.

#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>

#include "muster/base/clock.h"
#include "muster/drivers/shm/direct.h"
#include "muster/net/testing/end.h"
#include "muster/net/testing/pattern.h"

namespace muster::drivers::shm::testing {

inline constexpr std::size_t kArenaBody = std::size_t{1} << 20;

// One side's part of it. What has no "Any thread." needs the baton.
class CrashScript {
 public:
  // Takes over what `end` does with its news; outlives its connection. One side
  // closes at the end; the other waits for it.
  CrashScript(net::testing::End& end, bool is_closing) : end_(end), is_closing_(is_closing) {
    end.take = [this](wire::Frame& frame) { take(frame); };
    end.when_room = [this] { go_on(); };
  }

  // Makes it likely that the other side copies too: this one holds still in the
  // middle of a copy until the other has done a piece, or does not do any.
  void wait_for_help() {
    end_.provide = [this](const wire::Head&, std::size_t, std::uint64_t size) {
      if (has_copy_under_way_) wait_for_second_piece();
      WritableBuffer memory = WritableBuffer::on_heap(size);
      has_copy_under_way_ = size > kPiece + kProbe;
      if (has_copy_under_way_) {
        second_piece_ = memory.bytes().subspan(kPiece, kProbe);
        std::ranges::fill(second_piece_, std::byte{0});
      }
      return memory;
    };
  }

  void start() {
    is_started_ = true;
    go_on();
  }

  // Any thread, both.
  bool is_done() const { return is_done_; }
  bool has_failed() const { return has_failed_; }

 private:
  // Frames that go in one turn, as soon as the other's steps before are there.
  struct Step {
    std::size_t size;
    std::size_t count;
    bool is_in_arena;
  };
  static constexpr std::array<Step, 7> kSteps = {{
      {10, 8, false},         // In the ring, the last of them as a batch.
      {40 << 10, 1, false},   // Most of what the ring uses at first,
      {30 << 10, 1, false},   // so that this one starts over.
      {60 << 10, 20, false},  // The ring grows, is full, and has room again.
      {kArenaBody, 1, true},  // By reference, which comes back.
      {3 << 20, 2, false},    // Copied by both.
      {20, 1, false},         // By the side that does not close: it has everything.
  }};

  static constexpr std::size_t count_before(std::size_t step) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < step; ++i) count += kSteps[i].count;
    return count;
  }

  static constexpr std::size_t kProbe = 16;  // The pattern has no such run of zeros.

  void wait_for_second_piece() const {
    const TimePoint deadline = system_clock().now() + std::chrono::milliseconds(200);
    const auto is_there = [this] {
      return std::ranges::any_of(second_piece_, [](std::byte& byte) {
        return std::atomic_ref(byte).load(std::memory_order_relaxed) != std::byte{0};
      });
    };
    while (!is_there() && system_clock().now() < deadline) std::this_thread::yield();
  }

  void take(wire::Frame& frame) {
    has_copy_under_way_ = false;
    if (frame.parts.size() != 1 || !net::testing::matches(frame.parts[0].bytes(), taken_)) {
      has_failed_ = true;
    }
    ++taken_;
    go_on();
  }

  // Sends as much of it as may be sent now.
  void go_on() {
    const std::size_t last = is_closing_ ? kSteps.size() - 1 : kSteps.size();
    while (is_started_ && step_ < last && taken_ >= count_before(step_)) {
      while (sent_ < count_before(step_ + 1)) {
        if (!waiting_) waiting_ = make_frame(kSteps[step_]);
        if (!end_.send(*waiting_)) return;
        waiting_.reset();
        ++sent_;
      }
      ++step_;
    }
    const std::size_t all = count_before(is_closing_ ? kSteps.size() : kSteps.size() - 1);
    if (is_done_ || step_ < last || taken_ < all) return;
    is_done_ = true;
    if (!is_closing_) return;
    // A body that is taken back: nobody has been told of it.
    if (end_.connection->max_body() >= kArenaBody) {
      static_cast<void>(end_.send(make_frame({kArenaBody, 1, false})));
    }
    end_.close();
  }

  wire::Frame make_frame(const Step& step) {
    wire::Frame frame;
    if (step.is_in_arena) {
      WritableBuffer body = *end_.connection->allocate(step.size);
      net::testing::fill(body.bytes(), sent_);
      frame.parts.push_back(std::move(body).freeze());
      return frame;
    }
    const std::size_t size = std::min(step.size, end_.connection->max_body());
    frame.parts.push_back(net::testing::pattern(size, sent_));
    return frame;
  }

  net::testing::End& end_;
  const bool is_closing_;
  bool is_started_ = false;
  bool has_copy_under_way_ = false;
  std::span<std::byte> second_piece_;
  std::size_t step_ = 0;
  std::size_t sent_ = 0;
  std::size_t taken_ = 0;
  std::optional<wire::Frame> waiting_;  // Made, and not sent for want of room.
  std::atomic<bool> is_done_{false};
  std::atomic<bool> has_failed_{false};
};

}  // namespace muster::drivers::shm::testing
