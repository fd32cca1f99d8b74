// bench_ucx: UCX as a peer, by its own ucx_perftest. Its sides always poll.
#include "benchmarks/common/program.h"
#include "benchmarks/peers/ucx/perftest.h"

namespace muster::bench::ucx {
namespace {

constexpr const char* kShared = "posix,cma";
constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = std::size_t{64} << 20;

// What fits into the time, at the rates that are usual.
std::size_t count(const Options& options, double per_second) {
  return 10 + static_cast<std::size_t>(options.seconds * per_second);
}

Report round_trip(const Options& options, const char* fabrics, double per_second) {
  const Figures got = run_perftest({fabrics, "tag_lat", kSmall, count(options, per_second)});
  return {2 * got.one_way_us, "us", true, {}};
}

Report shm_awake(const Options& options) { return round_trip(options, kShared, 1e6); }
Report tcp_awake(const Options& options) { return round_trip(options, "tcp", 1e5); }

Report shm_stream(const Options& options) {
  const Figures got = run_perftest({kShared, "tag_bw", kSmall, count(options, 5e6)});
  return {got.messages_per_s, "msg/s", false, {}};
}

Report large(const Options& options) {
  const Figures got = run_perftest({kShared, "tag_lat", kLarge, count(options, 50)});
  return {got.one_way_us / 1e3, "ms", true, {}};
}

constexpr Case kCases[] = {
    {"shm.rtt.awake", shm_awake}, {"tcp.rtt.awake", tcp_awake}, {"shm.stream", shm_stream},
    {"ucx.rtt.awake", shm_awake}, {"ucx.large", large},
};

}  // namespace
}  // namespace muster::bench::ucx

int main(int argc, char** argv) {
  return muster::bench::run_program(argc, argv, muster::bench::ucx::kCases);
}
