// A virtual thread: runs when it is resumed, until it pauses.

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace muster::loop::testing {

class Fiber {
 public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Gives it something to do; it begins with the first resume(). Only for one
  // that is new or has ended.
  void start(std::function<void()> work);

  // From outside: runs it until it pauses or ends.
  void resume();
  // From inside, back to whoever resumed it.
  void pause();

  bool has_ended() const { return has_ended_; }

 private:
  static void enter(unsigned high, unsigned low);
  void live();
  void announce_switch(void** fake_stack, bool to_fiber);
  void finish_switch(void* fake_stack, bool to_fiber);

  std::vector<char> stack_;
  ucontext_t inside_{};
  ucontext_t outside_{};
  std::function<void()> work_;
  bool has_ended_ = true;

  // What sanitizers want to know of stacks that change.
  void* fake_inside_ = nullptr;
  void* fake_outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
  void* tsan_inside_ = nullptr;
  void* tsan_outside_ = nullptr;
};

}  // namespace muster::loop::testing
