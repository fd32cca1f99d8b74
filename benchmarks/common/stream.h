// Counts 64-byte messages that go one way as fast as they can.
#pragma once

#include <cstdint>
#include <functional>

#include "benchmarks/common/message.h"
#include "benchmarks/common/program.h"

namespace muster::bench {

// The sending side: numbered messages for the given time, then the stop.
void send_stream(const Options& options, const std::function<void(const Message&)>& send);

// The receiving side: give it every message in order. The rate is the
// receiver's: messages that it verified by the time that it took, without the
// first 50 ms (while queues fill, the two sides are not yet in step).
class StreamTally {
 public:
  // False for the stop message; fails the program when the bytes are wrong.
  bool accept(const Message& message);
  Report report() const;

 private:
  void look_at_clock();

  Expected expected_;
  std::int64_t first_ = 0;
  std::int64_t start_ = 0;
  std::uint64_t start_count_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace muster::bench
