#include "benchmarks/common/round_trip.h"

#include <thread>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/samples.h"

namespace muster::bench {
namespace {

constexpr double kWarmUpShare = 0.1;
constexpr std::size_t kRoomPerSecond = 4'000'000;

class Caller {
 public:
  explicit Caller(const Exchange& exchange) : exchange_(exchange) {}

  void call() {
    stamp(message_, next_);
    exchange_(message_);
    if (!is_stamped(message_, next_)) fail("wrong bytes in echo " + std::to_string(next_));
    ++next_;
  }
  void stop() {
    stamp(message_, kStop);
    exchange_(message_);
    if (!is_stamped(message_, kStop)) fail("wrong bytes in the last echo");
  }

 private:
  const Exchange& exchange_;
  Message message_{};
  std::uint64_t next_ = 0;
};

Report report_of(const Samples& samples) {
  constexpr double us = 1000;
  return {samples.percentile(0.5) / us,
          "us",
          true,
          {{"p10", samples.percentile(0.1) / us},
           {"p99", samples.percentile(0.99) / us},
           {"calls", static_cast<double>(samples.count())}}};
}

}  // namespace

Report time_awake(const Options& options, const Exchange& exchange) {
  Caller caller(exchange);
  Samples samples(static_cast<std::size_t>(options.seconds * kRoomPerSecond));
  for (const Deadline warm(options.seconds * kWarmUpShare); !warm.passed();) caller.call();

  const Deadline end(options.seconds);
  std::int64_t before = now_ns();
  do {
    caller.call();
    // One look at the clock per call: the end of one is the start of the next.
    const std::int64_t after = now_ns();
    samples.add(after - before);
    before = after;
  } while (!end.passed(before));
  caller.stop();
  return report_of(samples);
}

Report time_parked(const Options& options, const Exchange& exchange) {
  Caller caller(exchange);
  Samples samples(static_cast<std::size_t>(options.seconds * 1000) + 1);
  caller.call();
  const Deadline end(options.seconds);
  do {
    std::this_thread::sleep_for(kSilence);
    const std::int64_t before = now_ns();
    caller.call();
    samples.add(now_ns() - before);
  } while (!end.passed());
  caller.stop();
  return report_of(samples);
}

void echo(const std::function<void(Message&)>& receive,
          const std::function<void(const Message&)>& send) {
  Expected expected;
  Message message{};
  bool more = true;
  while (more) {
    receive(message);
    more = expected.accept(message);
    send(message);
  }
}

}  // namespace muster::bench
