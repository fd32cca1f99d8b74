#include "muster/loop/thread_env.h"

#include <ctime>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace muster::loop {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::optional<Duration> timeout) {
  timespec limit{};
  if (timeout) {
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(*timeout).count();
    if (nanoseconds <= 0) return;
    limit = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  }
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout ? &limit : nullptr, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void ThreadEnv::yield() { sched_yield(); }

}  // namespace muster::loop
