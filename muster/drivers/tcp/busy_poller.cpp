#include "muster/drivers/tcp/busy_poller.h"

namespace muster::drivers::tcp {

bool BusyPoller::is_crowd() const {
  const TimePoint now = loop_.now();
  const bool is_outnumbered = neighbours_ >= processors_;
  return is_outnumbered ? crowd_.is_anybody_there(now) : crowd_.is_there(now);
}

loop::Outlook BusyPoller::outlook() {
  using enum loop::Outlook;
  is_crowd_ = is_crowd();
  if (is_crowd_) return crowd_.is_worth_a_try() ? sockets : none;
  is_peers_turn_ = false;
  if (hot_ == nullptr || hot_->is_better_late()) return none;
  if (waits_++ % kAskEvery == 0) shares_processor_ = !hot_->is_worth_waiting_for();
  return shares_processor_ ? one : soon;
}

bool BusyPoller::poll() {
  if (hot_ == nullptr || is_crowd_ || is_peers_turn_) return false;
  const Pollable& socket = *hot_;
  if (socket.is_better_late()) return false;
  if (!hot_->look()) return false;
  is_peers_turn_ = shares_processor_;
  crowd_.saw(&socket, loop_.now());
  return true;
}

void BusyPoller::change_to(Pollable* socket) {
  hot_ = socket;
  waits_ = 0;
  shares_processor_ = is_peers_turn_ = false;
}

}  // namespace muster::drivers::tcp
