#include "benchmarks/common/stream.h"

#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"

namespace muster::bench {
namespace {

// A look at the clock costs as much as a message; one in so many is enough.
constexpr std::uint64_t kClockEvery = 256;
constexpr std::int64_t kWarmUpNs = 50'000'000;

}  // namespace

void send_stream(const Options& options, const std::function<void(const Message&)>& send) {
  const Deadline end(options.seconds + static_cast<double>(kWarmUpNs) / 1e9);
  Message message{};
  for (std::uint64_t number = 0; number % kClockEvery != 0 || !end.passed(); ++number) {
    stamp(message, number);
    send(message);
  }
  stamp(message, kStop);
  send(message);
}

bool StreamTally::accept(const Message& message) {
  if (!expected_.accept(message)) {
    end_ = now_ns();
    return false;
  }
  if (expected_.accepted() % kClockEvery == 1 && start_count_ == 0) look_at_clock();
  return true;
}

void StreamTally::look_at_clock() {
  const std::int64_t now = now_ns();
  if (first_ == 0) first_ = now;
  if (now - first_ < kWarmUpNs) return;
  start_ = now;
  start_count_ = expected_.accepted();
}

Report StreamTally::report() const {
  if (start_count_ == 0 || end_ <= start_) fail("the stream ended before it was warm");
  const auto messages = static_cast<double>(expected_.accepted() - start_count_);
  const double seconds = static_cast<double>(end_ - start_) / 1e9;
  return {messages / seconds, "msg/s", false, {{"messages", messages}, {"seconds", seconds}}};
}

}  // namespace muster::bench
