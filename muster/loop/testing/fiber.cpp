#include "muster/loop/testing/fiber.h"

#include <cstdint>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace muster::loop::testing {
namespace {

constexpr std::size_t kStackSize = 256 * 1024;

}  // namespace

Fiber::Fiber() : stack_(kStackSize) {
  getcontext(&inside_);
  inside_.uc_stack.ss_sp = stack_.data();
  inside_.uc_stack.ss_size = stack_.size();
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  // makecontext() passes ints: the pointer goes in two.
  makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::enter), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
#if defined(__SANITIZE_THREAD__)
  tsan_inside_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(tsan_inside_);
#endif
}

void Fiber::start(std::function<void()> work) {
  work_ = std::move(work);
  has_ended_ = false;
}

void Fiber::resume() {
#if defined(__SANITIZE_THREAD__)
  tsan_outside_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_inside_, 0);
#endif
  announce_switch(&fake_outside_, true);
  swapcontext(&outside_, &inside_);
  finish_switch(fake_outside_, false);
}

void Fiber::pause() {
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
  announce_switch(&fake_inside_, false);
  swapcontext(&inside_, &outside_);
  finish_switch(fake_inside_, true);
}

void Fiber::enter(unsigned high, unsigned low) {
  const std::uint64_t address = static_cast<std::uint64_t>(high) << 32 | low;
  reinterpret_cast<Fiber*>(static_cast<std::uintptr_t>(address))->live();
}

// Never returns: after one piece of work it waits for the next.
void Fiber::live() {
  finish_switch(nullptr, true);
  for (;;) {
    work_();
    work_ = nullptr;
    has_ended_ = true;
    pause();
  }
}

#if defined(__SANITIZE_ADDRESS__)
void Fiber::announce_switch(void** fake_stack, bool to_fiber) {
  __sanitizer_start_switch_fiber(fake_stack, to_fiber ? stack_.data() : outside_bottom_,
                                 to_fiber ? stack_.size() : outside_size_);
}

void Fiber::finish_switch(void* fake_stack, bool to_fiber) {
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(fake_stack, &bottom, &size);
  if (!to_fiber) return;
  outside_bottom_ = bottom;
  outside_size_ = size;
}
#else
void Fiber::announce_switch(void**, bool) {}
void Fiber::finish_switch(void*, bool) {}
#endif

}  // namespace muster::loop::testing
