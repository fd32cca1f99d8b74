#include "benchmarks/common/broadcast.h"

#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/samples.h"

namespace muster::bench {

Report time_broadcasts(const Options& options, std::span<std::byte> body,
                       const std::function<void(std::uint64_t number)>& round) {
  fill_body(body);
  std::uint64_t number = 0;
  const auto time_one = [&] {
    stamp_body(body, number);
    const std::int64_t before = now_ns();
    round(number++);
    return now_ns() - before;
  };
  time_one();  // Warms up, and is left out.
  Samples samples(1000);
  const Deadline end(options.seconds);
  do {
    samples.add(time_one());
  } while (!end.passed());
  const double median = samples.percentile(0.5);
  return {median / 1e6,
          "ms",
          true,
          {{"readers", kReaders},
           {"p10", samples.percentile(0.1) / 1e6},
           {"p90", samples.percentile(0.9) / 1e6},
           {"bodies", static_cast<double>(samples.count())}}};
}

}  // namespace muster::bench
