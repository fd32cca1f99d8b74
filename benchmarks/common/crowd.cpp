#include "benchmarks/common/crowd.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <numeric>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/shared.h"

namespace muster::bench {
namespace {

struct Board {
  Gate gate;
  std::array<std::atomic<double>, kCrowdPairs> rates;  // messages/s
};

// Counted until the pair's own deadline: a pair that gets no processor for the
// last while is as slow as that makes it.
double count_pair(double seconds, const Exchange& exchange) {
  Message message{};
  std::uint64_t number = 0;
  const std::int64_t start = now_ns();
  const Deadline end(seconds);
  do {
    stamp(message, number);
    exchange(message);
    if (!is_stamped(message, number)) fail("wrong bytes in an echo of the crowd");
    ++number;
  } while (!end.passed());
  return 2.0 * static_cast<double>(number) * 1e9 / static_cast<double>(now_ns() - start);
}

void call_in_crowd(const Options& options, Board& board, const Exchange& exchange,
                   std::size_t pair) {
  board.gate.arrive_and_wait(kCrowdPairs);
  board.rates[pair] = count_pair(options.seconds, exchange);
  Message stop{};
  stamp(stop, kStop);
  exchange(stop);
}

}  // namespace

Report count_crowd(const Options& options, const Crowd& crowd) {
  const Shared<Board> board;
  std::list<Process> processes;
  for (std::size_t pair = 0; pair < kCrowdPairs; ++pair) {
    processes.emplace_back([&crowd, pair] { crowd.serve(pair); });
    processes.emplace_back([&, pair] {
      crowd.call(pair,
                 [&](const Exchange& exchange) { call_in_crowd(options, *board, exchange, pair); });
    });
  }
  for (Process& process : processes) process.join();

  const double all = std::accumulate(board->rates.begin(), board->rates.end(), 0.0);
  const double slowest = *std::min_element(board->rates.begin(), board->rates.end());
  return {all,
          "msg/s",
          false,
          {{"pairs", kCrowdPairs}, {"slowest_share", slowest * kCrowdPairs / all}}};
}

}  // namespace muster::bench
