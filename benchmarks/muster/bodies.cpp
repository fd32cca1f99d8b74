// Large bodies: copied, and read where they lie.
#include <cstring>

#include "benchmarks/common/body.h"
#include "benchmarks/common/clock.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/large.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/samples.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/node.h"

namespace muster::bench::ours {
namespace {

Arrival receive_arrival(Node& node) {
  const Buffer answer = node.receive();
  Arrival arrival{};
  if (answer.size() != sizeof arrival) fail("an arrival of the wrong size");
  std::memcpy(&arrival, answer.data(), sizeof arrival);
  return arrival;
}

void send_arrival(Node& node, const Arrival& arrival) { node.send_copy(arrival); }

// An empty body ends the run.
void receive_bodies(const Way& way, Notice& bound) {
  Node node(way);
  bound.post(node.listen());
  node.wait_until_up();
  for (std::uint64_t number = 0;; ++number) {
    const Buffer body = node.receive();
    const Arrival arrival{number, now_ns()};
    if (body.empty()) break;
    if (body.size() != kLargeBody) fail("a body of the wrong size");
    verify_body(body.bytes(), number);
    send_arrival(node, arrival);
  }
  node.close();
}

// From memory that the peer cannot read, into the receiver's.
Report copied(const Options& options, const Way& way) {
  const Shared<Notice> bound;
  Process receiver([&] { receive_bodies(way, *bound); });
  Report report;
  {
    Node node(way);
    node.connect(bound->wait());
    const BodyBuffer body;
    report = time_bodies(options, body.bytes(), [&](std::uint64_t) {
      node.send(Buffer(body.bytes(), nullptr));
      return receive_arrival(node);
    });
    node.send(Buffer());
    node.close();
  }
  receiver.join();
  return report;
}

// What a body finds at the other end.
enum class Receiver : std::uint8_t { awake, asleep };

// Small messages to and fro until both ends are awake: who had to be woken sleeps
// again at first, since whoever woke it may need its processor.
void knock(Node& node) {
  constexpr std::int64_t kAwake = 10'000;
  for (int tries = 0; tries < 100; ++tries) {
    const std::int64_t start = now_ns();
    send_arrival(node, {});
    receive_arrival(node);
    if (now_ns() - start < kAwake) return;
  }
}

// The receiver of bodies that were made in the arena. Says when each was
// there, and how long reading all of it took.
void read_in_place(Notice& bound, bool read_all) {
  Node node(kShm);
  bound.post(node.listen());
  node.wait_until_up();
  for (std::uint64_t number = 0;;) {
    const Buffer body = node.receive();
    const std::int64_t arrived = now_ns();
    if (body.empty()) break;
    if (body.size() == sizeof(Arrival)) {
      send_arrival(node, {});
      continue;
    }
    if (read_all) {
      read_body(body.bytes(), number);
      send_arrival(node, {number, now_ns() - arrived});
    } else {
      verify_body(body.bytes(), number);
      send_arrival(node, {number, arrived});
    }
    ++number;
  }
  node.close();
}

// Calls `sample(sent at, arrival)` for each body of `size` bytes.
template <class Sample>
void pass_bodies(const Options& options, std::size_t size, Receiver state, bool read_all,
                 Sample sample) {
  const Shared<Notice> bound;
  Process receiver([&] { read_in_place(*bound, read_all); });
  {
    Node node(kShm);
    node.connect(bound->wait());
    const Deadline end(options.seconds);
    constexpr std::uint64_t kWarm = 3;
    for (std::uint64_t number = 0; number < kWarm + 5 || !end.passed(); ++number) {
      WritableBuffer body = node.allocate(size);
      // Memory that comes back warm holds the pattern already; which comes is not known.
      fill_new_pages(body.bytes());
      stamp_body(body.bytes(), number);
      Buffer frozen = std::move(body).freeze();
      if (state == Receiver::awake) knock(node);
      const std::int64_t start = now_ns();
      node.send(std::move(frozen));
      const Arrival arrival = receive_arrival(node);
      if (arrival.number != number) fail("an arrival out of order");
      if (number >= kWarm) sample(start, arrival);
    }
    node.send(Buffer());
    node.close();
  }
  receiver.join();
}

Report handover(const Options& options, std::size_t size, Receiver state) {
  Samples samples(10'000);
  pass_bodies(options, size, state, false, [&](std::int64_t start, const Arrival& arrival) {
    samples.add(arrival.at_ns - start);
  });
  return {samples.percentile(0.5) / 1e3, "us", true, {{"p99", samples.percentile(0.99) / 1e3}}};
}

}  // namespace

Report shm_copied(const Options& options) { return copied(options, kShm); }
Report shm_noptrace(const Options& options) { return copied(options, kShmNoPtrace); }
Report tcp_large(const Options& options) { return copied(options, kTcp); }
Report zmq_large(const Options& options) { return copied(options, kZmq); }
Report curve_large(const Options& options) { return copied(options, kCurve); }
Report ucx_large(const Options& options) { return copied(options, kUcx); }
Report tls_large(const Options& options) { return copied(options, kTls); }

Report shm_inplace(const Options& options) {
  Samples samples(1'000);
  pass_bodies(options, kLargeBody, Receiver::asleep, true,
              [&](std::int64_t, const Arrival& arrival) {
                samples.add(arrival.at_ns);  // Here: how long the reading took.
              });
  return {samples.percentile(0.5) / 1e6, "ms", true, {}};
}

Report shm_handover_64k(const Options& options) {
  return handover(options, std::size_t{64} << 10, Receiver::awake);
}
Report shm_handover_256m(const Options& options) {
  return handover(options, kHugeBody, Receiver::awake);
}
Report shm_handover_asleep(const Options& options) {
  return handover(options, kHugeBody, Receiver::asleep);
}

}  // namespace muster::bench::ours
