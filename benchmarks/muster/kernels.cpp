// Kernels on 64 MiB of float32, one thread: how fast results are written. The
// peer copies as many bytes as come out, with memcpy.
#include "muster/collectives/kernels.h"

#include <cstring>
#include <vector>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/samples.h"
#include "benchmarks/muster/cases.h"

namespace muster::bench::ours {
namespace {

using namespace muster::collectives;

constexpr std::size_t kCount = std::size_t{16} << 20;

Report rate_of(const Options& options, std::size_t sources) {
  std::vector<std::vector<float>> inputs;
  std::vector<const std::byte*> pointers;
  for (std::size_t i = 0; i < sources; ++i) {
    inputs.emplace_back(kCount, static_cast<float>(i + 1));
    pointers.push_back(reinterpret_cast<const std::byte*>(inputs.back().data()));
  }
  std::vector<float> result(kCount);
  auto* const to = reinterpret_cast<std::byte*>(result.data());
  Samples samples(1000);
  const Deadline end(options.seconds);
  do {
    const std::int64_t before = now_ns();
    if (sources == 1) {
      copy(pointers[0], to, kCount * sizeof(float), Stores::streaming);
    } else {
      combine(Reduction::sum, Element::f32, pointers, to, kCount, Stores::streaming);
    }
    samples.add(now_ns() - before);
  } while (!end.passed());
  const auto expected = static_cast<float>(sources * (sources + 1) / 2);
  if (result != std::vector<float>(kCount, expected)) fail("a kernel gave wrong numbers");
  return {static_cast<double>(kCount * sizeof(float)) / samples.percentile(0.5), "GB/s", false, {}};
}

}  // namespace

Report kernel_copy(const Options& options) { return rate_of(options, 1); }
Report kernel_sum_two(const Options& options) { return rate_of(options, 2); }
Report kernel_sum_four(const Options& options) { return rate_of(options, 4); }

}  // namespace muster::bench::ours
