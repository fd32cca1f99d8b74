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
  if (hot_ == nullptr) return none;
  return hot_->is_worth_waiting_for() ? soon : one;
}

bool BusyPoller::poll() {
  if (hot_ == nullptr || is_crowd_) return false;
  const Pollable& socket = *hot_;
  if (!hot_->look()) return false;
  crowd_.saw(&socket, loop_.now());
  return true;
}

}  // namespace muster::drivers::tcp
