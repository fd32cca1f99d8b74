#include "benchmarks/common/scatter.h"

#include <algorithm>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"

namespace muster::bench {
namespace {

constexpr std::int64_t kWorkNs = 10'000;

void run(Tasks& tasks, std::uint64_t first, const std::function<void(Tasks&)>& round) {
  for (std::size_t i = 0; i < kWorkers; ++i) stamp(tasks[i], first + i);
  round(tasks);
  // In whatever order they came.
  std::ranges::sort(tasks, {}, &Message::number);
  for (std::size_t i = 0; i < kWorkers; ++i) {
    if (!is_stamped(tasks[i], first + i)) fail("wrong bytes in an answer to a task");
  }
}

}  // namespace

void work() {
  const std::int64_t end = now_ns() + kWorkNs;
  while (now_ns() < end) {
  }
}

Report count_tasks(const Options& options, const std::function<void(Tasks&)>& round) {
  Tasks tasks{};
  std::uint64_t number = 0;
  for (int i = 0; i < 50; ++i, number += kWorkers) run(tasks, number, round);
  const std::uint64_t before = number;
  const std::int64_t start = now_ns();
  const Deadline end(options.seconds);
  do {
    run(tasks, number, round);
    number += kWorkers;
  } while (!end.passed());
  const double seconds = static_cast<double>(now_ns() - start) / 1e9;
  return {static_cast<double>(number - before) / seconds, "task/s", false, {{"workers", kWorkers}}};
}

}  // namespace muster::bench
