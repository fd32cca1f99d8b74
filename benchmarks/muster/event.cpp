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

  // Pushes `tag`, each peer in its turn. Fails unless `fires` of each 100 fire an event.
  void run(std::string_view tag, int fires, double seconds) {
    const Deadline deadline(seconds);
    do {
      int fired = 0;
      const std::int64_t start = now_ns();
      for (int i = 0; i < kBatch; ++i) {
        const msg::EventOutcome outcome =
            table_.push({names_[static_cast<std::size_t>(i)], "worker", tag, ++ticket_}, now_);
        fired += static_cast<int>(outcome.firings.size());
      }
      samples_.add(now_ns() - start);
      if (fired != fires) fail("events fired " + std::to_string(fired) + " times");
    } while (!deadline.passed());
  }
  // The median of what a push took, in nanoseconds.
  double median() const { return samples_.percentile(0.5) / kBatch; }

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
  Samples samples_{1 << 18};
};

}  // namespace

// The tables take turns, so that whatever else the machine does meets all of them.
Report event_push(const Options& options) {
  constexpr int kRounds = 20;
  const double share = options.seconds / 4 / kRounds;
  Desk missed[3] = {Desk(10), Desk(100), Desk(1000)};
  Desk hit(999);
  hit.add("worker:rollout:50%");
  for (int round = 0; round < kRounds; ++round) {
    for (Desk& desk : missed) desk.run("update", 0, share);
    hit.run("rollout", 2, share);
  }
  return {hit.median() / 1000,
          "us",
          true,
          {{"missed_10_ns", missed[0].median()},
           {"missed_100_ns", missed[1].median()},
           {"missed_1000_ns", missed[2].median()},
           {"growth", missed[2].median() / missed[0].median()}}};
}

}  // namespace muster::bench::ours
