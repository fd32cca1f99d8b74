// Ping-pong over two rings, both sides spinning: the floor of a round trip.
#include "benchmarks/common/process.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/peers/raw/cases.h"
#include "benchmarks/peers/raw/ring.h"

namespace muster::bench::raw {
namespace {

struct Channel {
  Ring there;
  Ring back;
};

void push(Ring& ring, const Message& message) {
  while (!ring.try_push(message)) relax();
}

void pop(Ring& ring, Message& message) {
  while (!ring.try_pop(message)) relax();
}

}  // namespace

Report shm_awake(const Options& options) {
  const Shared<Channel> channel;
  Process other([&channel] {
    echo([&](Message& message) { pop(channel->there, message); },
         [&](const Message& message) { push(channel->back, message); });
  });
  const Report report = time_awake(options, [&](Message& message) {
    push(channel->there, message);
    pop(channel->back, message);
  });
  other.join();
  return report;
}

}  // namespace muster::bench::raw
