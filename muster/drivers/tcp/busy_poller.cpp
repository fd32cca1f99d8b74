#include "muster/drivers/tcp/busy_poller.h"

#include <algorithm>
#include <chrono>
#include <span>

namespace muster::drivers::tcp {

void BusyPoller::add(Pollable& socket, TimePoint now) {
  const auto known = std::span(sockets_).first(count_);
  if (std::ranges::find(known, &socket) != known.end() || now < crowded_until_) return;
  if (count_ == kMost) {
    // Looking at some only would starve the others.
    crowded_until_ = now + std::chrono::milliseconds(1);
    count_ = 0;
    return;
  }
  sockets_[count_++] = &socket;
}

void BusyPoller::forget(Pollable& socket) {
  const auto known = std::span(sockets_).first(count_);
  count_ -= std::ranges::remove(known, &socket).size();
}

bool BusyPoller::is_worth_spinning() {
  return std::ranges::any_of(std::span(sockets_).first(count_),
                             [](Pollable* socket) { return socket->is_worth_waiting_for(); });
}

bool BusyPoller::poll() {
  bool found = false;
  // By index: a look may make the poller forget this socket, or others.
  for (std::size_t i = 0; i < count_;) {
    Pollable* const socket = sockets_[i];
    found |= socket->look();
    if (i < count_ && sockets_[i] == socket) ++i;
  }
  return found;
}

}  // namespace muster::drivers::tcp
