// What an all-reduce cannot do without, each rank's result being written once,
// at the speed at which two threads copy: ranks x bytes / that.
#include <barrier>
#include <cstring>
#include <thread>
#include <vector>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/collective.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/samples.h"
#include "benchmarks/peers/raw/cases.h"

namespace muster::bench::raw {

Report allreduce(std::string_view name, const Options& options) {
  const auto job = CollectiveJob::parse(name);
  const std::size_t half = job->elements / 2;
  std::vector<float> from(2 * half);
  std::vector<float> to(2 * half);
  fill(*job, 1, 1, from, {});
  std::barrier meet(2);
  std::atomic<bool> is_over = false;
  Samples samples(1000);
  const auto copy = [&](std::size_t at) {
    std::memcpy(to.data() + at, from.data() + at, half * sizeof(float));
  };
  std::thread other([&] {
    for (;;) {
      meet.arrive_and_wait();
      if (is_over) return;
      copy(half);
      meet.arrive_and_wait();
    }
  });
  const Deadline end(options.seconds);
  do {
    meet.arrive_and_wait();
    const std::int64_t before = now_ns();
    copy(0);
    meet.arrive_and_wait();
    samples.add(now_ns() - before);
  } while (!end.passed());
  is_over = true;
  meet.arrive_and_wait();
  other.join();
  if (from != to) fail("copied wrong numbers");
  return {samples.percentile(0.5) / 1e3 * job->ranks, "us", true, {}};
}

}  // namespace muster::bench::raw
