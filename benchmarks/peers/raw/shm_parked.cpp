// The same rings, but who finds nothing sleeps on an eventfd at once.
#include <sys/eventfd.h>
#include <unistd.h>

#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/peers/raw/cases.h"
#include "benchmarks/peers/raw/ring.h"

namespace muster::bench::raw {
namespace {

// A ring with a bell for its reader.
class BellRing {
 public:
  explicit BellRing() : bell_(check_call(eventfd(0, EFD_CLOEXEC), "eventfd")) {}
  ~BellRing() { close(bell_); }
  BellRing(const BellRing&) = delete;
  BellRing& operator=(const BellRing&) = delete;

  void push(const Message& message) {
    while (!shared_->ring.try_push(message)) relax();
    // Sequentially consistent, like the store and the second look in sleep():
    // either the reader sees the message, or this sees that it sleeps.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!shared_->asleep.load()) return;
    const std::uint64_t one = 1;
    check_call(write(bell_, &one, sizeof(one)), "write to eventfd");
  }

  void pop(Message& message) {
    while (!shared_->ring.try_pop(message)) sleep();
  }

 private:
  struct Memory {
    Ring ring;
    alignas(64) std::atomic<bool> asleep{false};
  };

  void sleep() {
    shared_->asleep.store(true);
    if (shared_->ring.empty()) {
      std::uint64_t rings = 0;
      check_call(read(bell_, &rings, sizeof(rings)), "read from eventfd");
    }
    shared_->asleep.store(false);
  }

  Shared<Memory> shared_;
  int bell_;
};

}  // namespace

Report shm_parked(const Options& options) {
  BellRing there;
  BellRing back;
  Process other([&] {
    echo([&](Message& message) { there.pop(message); },
         [&](const Message& message) { back.push(message); });
  });
  const Report report = time_parked(options, [&](Message& message) {
    there.push(message);
    back.pop(message);
  });
  other.join();
  return report;
}

}  // namespace muster::bench::raw
