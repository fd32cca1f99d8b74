// Credit: how many bytes of messages may be under way or wait at the receiver.
// Pure. A message costs its body's bytes that are not passed by reference,
// plus kMessageCost.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace muster::net {

inline constexpr std::uint32_t kMessageCost = 128;

// The sender's side.
class SendWindow {
 public:
  // A new connection to a peer that lets `window` bytes wait.
  void open(std::uint32_t window) { window_ = available_ = window; }

  bool fits(std::uint32_t cost) const { return cost <= available_; }
  void take(std::uint32_t cost) { available_ -= cost; }

  // False if the peer gives back what it never got.
  bool give_back(std::uint32_t credit) {
    if (credit > window_ - available_) return false;
    available_ += credit;
    return true;
  }

  std::uint32_t size() const { return window_; }
  std::uint32_t available() const { return available_; }
  // Sent, and not known to have been taken by the peer's user.
  std::uint32_t unconfirmed() const { return window_ - available_; }

 private:
  std::uint32_t window_ = 0;
  std::uint32_t available_ = 0;
};

// The receiver's side.
class ReceiveWindow {
 public:
  // A new connection. What the user has not done with yet counts against it.
  void open(std::uint32_t window) {
    window_ = window;
    stale_ += std::exchange(waiting_, 0);
    owed_ = 0;
  }

  // A message came. False if the peer sends more than it was allowed.
  bool take(std::uint32_t cost) {
    if (cost > window_ - waiting_ - owed_) return false;
    waiting_ += cost;
    return true;
  }

  // The user is done with messages that cost so much together. True if
  // enough is owed now to be worth a frame of its own.
  bool done(std::size_t cost) {
    const std::size_t old = std::min(cost, stale_);
    stale_ -= old;
    const std::size_t fresh = std::min<std::size_t>(cost - old, waiting_);
    waiting_ -= static_cast<std::uint32_t>(fresh);
    owed_ += static_cast<std::uint32_t>(fresh);
    return is_due();
  }

  std::uint32_t size() const { return window_; }
  bool is_due() const { return owed_ > 0 && owed_ >= window_ / 4; }
  std::uint32_t owed() const { return owed_; }
  // The credit has been sent.
  void settle(std::uint32_t credit) { owed_ -= credit; }

 private:
  std::uint32_t window_ = 0;
  std::uint32_t waiting_ = 0;  // At the user's, of this connection.
  std::uint32_t owed_ = 0;     // Done with, but not told to the peer.
  std::size_t stale_ = 0;      // At the user's, of earlier connections.
};

}  // namespace muster::net
