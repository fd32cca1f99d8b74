// The same rings, but who finds nothing sleeps on an eventfd at once.
#include <thread>

#include <sys/eventfd.h>
#include <unistd.h>

#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/common/samples.h"
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

// Both ends of one hand-over: what the receiver saw is left for the sender.
struct Seen {
  alignas(64) std::atomic<std::uint64_t> number{0};
  std::int64_t at_ns = 0;
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

// A word about a body of 256 MiB that was stamped in shared memory, to one who has
// slept meanwhile.
Report shm_handover_asleep(const Options& options) {
  const SharedMemory memory(kHugeBody);
  BellRing there;
  const Shared<Seen> seen;
  Process receiver([&] {
    Message message{};
    for (std::uint64_t number = 1;; ++number) {
      there.pop(message);
      seen->at_ns = now_ns();
      if (is_stamped(message, kStop)) return;
      verify_body(memory.bytes(), number);
      seen->number.store(number, std::memory_order_release);
    }
  });
  fill_body(memory.bytes());
  Samples samples(10'000);
  Message message{};
  const Deadline end(options.seconds);
  for (std::uint64_t number = 1; number <= 8 || !end.passed(); ++number) {
    stamp_body(memory.bytes(), number);
    stamp(message, number);
    const std::int64_t start = now_ns();
    there.push(message);
    while (seen->number.load(std::memory_order_acquire) < number) std::this_thread::yield();
    if (number > 3) samples.add(seen->at_ns - start);
  }
  stamp(message, kStop);
  there.push(message);
  receiver.join();
  return {samples.percentile(0.5) / 1e3, "us", true, {{"p99", samples.percentile(0.99) / 1e3}}};
}

}  // namespace muster::bench::raw
