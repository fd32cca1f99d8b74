#include "muster/loop/timers.h"

namespace muster::loop {

Timer::~Timer() {
  if (timers_ != nullptr) timers_->stop(*this);
}

Timers::~Timers() {
  for (Timer* timer : heap_) timer->timers_ = nullptr;
}

void Timers::start(Timer& timer, TimePoint due) {
  if (check_) check_();
  if (timer.timers_ != nullptr) stop(timer);
  timer.timers_ = this;
  timer.due_ = due;
  heap_.push_back(&timer);
  timer.position_ = heap_.size() - 1;
  sift_up(timer.position_);
}

void Timers::stop(Timer& timer) {
  if (timer.timers_ == nullptr) return;
  if (check_) check_();
  timer.timers_ = nullptr;
  if (timer.position_ < heap_.size() && heap_[timer.position_] == &timer) {
    remove(timer.position_);
    return;
  }
  // It is about to be run, among others: those that are stopped are skipped.
  for (std::size_t i = next_due_; i < due_now_.size(); ++i) {
    if (due_now_[i] == &timer) due_now_[i] = nullptr;
  }
}

bool Timers::run(TimePoint now) {
  // Taken out first, so that what an action starts for `now` cannot keep this going.
  while (next() <= now) {
    Timer* const timer = heap_.front();
    remove(0);
    timer->position_ = SIZE_MAX;
    due_now_.push_back(timer);
  }
  if (due_now_.empty()) return false;
  // An action may come here again: it finds what is left, and leaves nothing.
  while (next_due_ < due_now_.size()) {
    Timer* const timer = due_now_[next_due_++];
    if (timer == nullptr) continue;
    timer->timers_ = nullptr;
    timer->action_();
  }
  due_now_.clear();
  next_due_ = 0;
  return true;
}

void Timers::place(std::size_t position, Timer* timer) {
  heap_[position] = timer;
  timer->position_ = position;
}

void Timers::sift_up(std::size_t position) {
  Timer* const timer = heap_[position];
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (heap_[parent]->due_ <= timer->due_) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, timer);
}

void Timers::sift_down(std::size_t position) {
  Timer* const timer = heap_[position];
  for (;;) {
    std::size_t child = 2 * position + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->due_ < heap_[child]->due_) ++child;
    if (timer->due_ <= heap_[child]->due_) break;
    place(position, heap_[child]);
    position = child;
  }
  place(position, timer);
}

void Timers::remove(std::size_t position) {
  Timer* const last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) return;
  place(position, last);
  sift_up(position);
  sift_down(last->position_);
}

}  // namespace muster::loop
