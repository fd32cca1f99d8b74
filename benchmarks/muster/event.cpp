// What a message costs in the event table, however many events there are.
#include <string>
#include <vector>

#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/samples.h"
#include "benchmarks/muster/cases.h"
#include "muster/msg/event_table.h"

namespace muster::bench::ours {
namespace {

constexpr int kPeers = 100;
// Pushes between two looks at the clock.
constexpr int kBatch = 100;

// A table with 100 peers and events of every kind that none of the messages
// pushed here belongs to.
class Desk {
 public:
  explicit Desk(int events) {
    for (int i = 0; i < kPeers; ++i) {
      names_.push_back("worker_" + std::to_string(i));
      table_.joined(names_.back(), "worker", TimePoint());
    }
    for (int i = 0; i < events; ++i) add(strange(i));
  }

  void add(const std::string& text) {
    const Result<msg::EventId> id = table_.add(text);
    if (!id) fail(id.error().message());
  }

  // The median of what a push of `tag` takes, each peer in its turn, in
  // nanoseconds. Fails unless `fires` of each 100 fire an event.
  double time(std::string_view tag, int fires, double seconds) {
    Samples samples(1 << 16);
    const Deadline deadline(seconds);
    while (samples.count() == 0 || !deadline.passed()) {
      int fired = 0;
      const std::int64_t start = now_ns();
      for (int i = 0; i < kBatch; ++i) {
        const msg::EventOutcome outcome =
            table_.push({names_[static_cast<std::size_t>(i)], "worker", tag, ++ticket_}, now_);
        fired += static_cast<int>(outcome.firings.size());
      }
      samples.add(now_ns() - start);
      if (fired != fires) fail("events fired " + std::to_string(fired) + " times");
    }
    return samples.percentile(0.5) / kBatch;
  }

 private:
  static std::string strange(int i) {
    // All of one length, so that only the number of events differs.
    const std::string number = std::to_string(1000 + i);
    switch (i % 4) {
      case 0: return "worker:tag_" + number + ":60%";
      case 1: return "stranger_" + number + ":update:2";
      case 2: return "stranger_" + number + "_*:update:2 distinct";
      default: return "learner:update:1 && worker:tag_" + number + ":1 within 1s";
    }
  }

  msg::EventTable table_;
  std::vector<std::string> names_;
  msg::EventTicket ticket_ = 0;
  TimePoint now_{std::chrono::hours(1)};
};

}  // namespace

Report event_push(const Options& options) {
  const double share = options.seconds / 4;
  double missed[3] = {};
  const int counts[3] = {10, 100, 1000};
  for (int i = 0; i < 3; ++i) missed[i] = Desk(counts[i]).time("update", 0, share);
  Desk desk(999);
  desk.add("worker:rollout:50%");
  const double hit = desk.time("rollout", 2, share);
  return {hit / 1000,
          "us",
          true,
          {{"missed_10_ns", missed[0]},
           {"missed_100_ns", missed[1]},
           {"missed_1000_ns", missed[2]},
           {"growth", missed[2] / missed[0]}}};
}

}  // namespace muster::bench::ours
