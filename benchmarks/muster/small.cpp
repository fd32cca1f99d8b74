// Small messages: round trips, one way, and in a crowd.
#include <array>
#include <cstring>

#include "benchmarks/common/crowd.h"
#include "benchmarks/common/fail.h"
#include "benchmarks/common/process.h"
#include "benchmarks/common/round_trip.h"
#include "benchmarks/common/shared.h"
#include "benchmarks/common/stream.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/node.h"

namespace muster::bench::ours {
namespace {

void receive_into(Node& node, Message& message) {
  const Buffer body = node.receive();
  if (body.size() != sizeof message) fail("a message of the wrong size");
  std::memcpy(&message, body.data(), sizeof message);
}

void serve(const Way& way, Notice& bound) {
  Node node(way);
  bound.post(node.listen());
  node.wait_until_up();
  echo([&](Message& message) { receive_into(node, message); },
       [&](const Message& message) { node.send_copy(message); });
  node.close();
}

Exchange exchange_over(Node& node) {
  return [&](Message& message) {
    node.send_copy(message);
    receive_into(node, message);
  };
}

using Timing = Report (*)(const Options&, const Exchange&);

Report round_trips(const Options& options, const Way& way, Timing timing) {
  const Shared<Notice> bound;
  Process other([&] { serve(way, *bound); });
  Report report;
  {
    Node node(way);
    node.connect(bound->wait());
    report = timing(options, exchange_over(node));
    node.close();
  }
  other.join();
  return report;
}

Report stream(const Options& options, const Way& way) {
  const Shared<Notice> bound;
  Process sender([&] {
    Node node(way);
    node.connect(bound->wait());
    send_stream(options, [&](const Message& message) { node.send_copy(message); });
    node.close();
  });
  StreamTally tally;
  {
    Node node(way);
    bound->post(node.listen());
    node.wait_until_up();
    Message message{};
    do {
      receive_into(node, message);
    } while (tally.accept(message));
    node.close();
  }
  sender.join();
  return tally.report();
}

}  // namespace

Report shm_awake(const Options& options) { return round_trips(options, kShm, time_awake); }
Report shm_parked(const Options& options) { return round_trips(options, kShm, time_parked); }
Report tcp_awake(const Options& options) { return round_trips(options, kTcp, time_awake); }
Report tcp_parked(const Options& options) { return round_trips(options, kTcp, time_parked); }
Report tls_awake(const Options& options) { return round_trips(options, kTls, time_awake); }
Report zmq_rtt(const Options& options) { return round_trips(options, kZmq, time_awake); }
Report curve_rtt(const Options& options) { return round_trips(options, kCurve, time_awake); }
Report zmq_stream(const Options& options) { return stream(options, kZmq); }
Report curve_stream(const Options& options) { return stream(options, kCurve); }
Report ucx_awake(const Options& options) { return round_trips(options, kUcx, time_awake); }
Report shm_stream(const Options& options) { return stream(options, kShm); }
Report tcp_stream(const Options& options) { return stream(options, kTcp); }

Report shm_crowd(const Options& options) {
  const Shared<std::array<Notice, kCrowdPairs>> bound;
  Crowd crowd;
  crowd.serve = [&](std::size_t pair) { serve(kShm, (*bound)[pair]); };
  crowd.call = [&](std::size_t pair, const std::function<void(const Exchange&)>& run) {
    Node node(kShm);
    node.connect((*bound)[pair].wait());
    run(exchange_over(node));
    node.close();
  };
  return count_crowd(options, crowd);
}

}  // namespace muster::bench::ours
