// What one core copies and reads alone, for comparison with the other figures.
#include <cstring>

#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/samples.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/peers/raw/cases.h"

namespace muster::bench::raw {
namespace {

template <class Operation>
Report rate_of(const Options& options, Operation operation) {
  Samples samples(1000);
  std::uint64_t number = 0;
  const Deadline end(options.seconds);
  do {
    const std::int64_t before = now_ns();
    operation(number++);
    samples.add(now_ns() - before);
  } while (!end.passed());
  const double rate = static_cast<double>(kLargeBody) / samples.percentile(0.5);
  return {rate, "GB/s", false, {{"times", static_cast<double>(samples.count())}}};
}

}  // namespace

Report memory_copy(const Options& options) {
  const SharedMemory from(kLargeBody);
  const SharedMemory to(kLargeBody);
  fill_body(from.bytes());
  fill_body(to.bytes());
  stamp_body(from.bytes(), 7);
  const Report report = rate_of(options, [&](std::uint64_t) {
    std::memcpy(to.bytes().data(), from.bytes().data(), kLargeBody);
  });
  read_body(to.bytes(), 7);
  return report;
}

Report memory_read(const Options& options) {
  const SharedMemory memory(kLargeBody);
  fill_body(memory.bytes());
  stamp_body(memory.bytes(), 7);
  return rate_of(options, [&](std::uint64_t) { read_body(memory.bytes(), 7); });
}

}  // namespace muster::bench::raw
