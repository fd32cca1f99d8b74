#include "benchmarks/common/large.h"

#include <string>

#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/samples.h"

namespace muster::bench {
namespace {

std::int64_t time_one(std::span<std::byte> body, std::uint64_t number,
                      const std::function<Arrival(std::uint64_t)>& transfer) {
  stamp_body(body, number);
  const std::int64_t before = now_ns();
  const Arrival arrival = transfer(number);
  if (arrival.number != number) fail("body " + std::to_string(number) + " was not confirmed");
  return arrival.at_ns - before;
}

}  // namespace

Report time_bodies(const Options& options, std::span<std::byte> body,
                   const std::function<Arrival(std::uint64_t number)>& transfer) {
  fill_body(body);
  std::uint64_t number = 0;
  time_one(body, number++, transfer);

  Samples samples(1000);
  const Deadline end(options.seconds);
  do {
    samples.add(time_one(body, number++, transfer));
  } while (!end.passed());
  const double median = samples.percentile(0.5);
  return {median / 1e6,
          "ms",
          true,
          {{"GB/s", static_cast<double>(body.size()) / median},
           {"p10", samples.percentile(0.1) / 1e6},
           {"p99", samples.percentile(0.99) / 1e6},
           {"bodies", static_cast<double>(samples.count())}}};
}

}  // namespace muster::bench
