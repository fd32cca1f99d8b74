// One body to eight processes: PUB over ipc, and a PULL for what they confirm.
#include "benchmarks/common/broadcast.h"

#include <list>
#include <utility>
#include <vector>

#include "benchmarks/common/body.h"
#include "benchmarks/common/process.h"
#include "benchmarks/peers/zmq/cases.h"
#include "benchmarks/peers/zmq/received.h"

namespace muster::bench::zmq {
namespace {

struct Bound {
  Notice bodies;
  Notice answers;
};

// A body of one byte asks whether the subscription has arrived; an empty one
// ends the run.
void read_bodies(const Bound& bound) {
  Socket bodies(ZMQ_SUB);
  zmq_setsockopt(bodies.handle(), ZMQ_SUBSCRIBE, "", 0);
  bodies.connect(bound.bodies);
  Socket answers(ZMQ_PUSH);
  answers.connect(bound.answers);
  bool is_begun = false;
  for (std::uint64_t number = 0;;) {
    Received body(bodies);
    if (body.bytes().empty()) return;
    if (body.bytes().size() == 1) {
      if (!std::exchange(is_begun, true)) answers.send("", 1);
      continue;
    }
    if (body.bytes().size() != kLargeBody) fail("a body of the wrong size");
    read_body(body.bytes(), number++);
    answers.send("", 1);
  }
}

// PUB drops what nobody has subscribed to yet.
void wait_for_all(Socket& bodies, Socket& answers) {
  char byte = 0;
  for (std::size_t begun = 0; begun < kReaders;) {
    bodies.send("?", 1);
    zmq_pollitem_t item{answers.handle(), 0, ZMQ_POLLIN, 0};
    while (zmq_poll(&item, 1, 10) > 0) {
      answers.receive(&byte, 1);
      ++begun;
    }
  }
}

}  // namespace

Report ipc_broadcast(const Options& options) {
  const Shared<Bound> bound;
  const std::string body_address = ipc_address(0);
  const std::string answer_address = ipc_address(1);
  std::list<Process> readers;
  for (std::size_t i = 0; i < kReaders; ++i) readers.emplace_back([&] { read_bodies(*bound); });
  Socket bodies(ZMQ_PUB);
  bodies.bind(body_address, bound->bodies);
  Socket answers(ZMQ_PULL);
  answers.bind(answer_address, bound->answers);
  wait_for_all(bodies, answers);
  std::vector<std::byte> body(kLargeBody);
  const Report report = time_broadcasts(options, body, [&](std::uint64_t) {
    send_in_place(bodies, body);
    char byte = 0;
    for (std::size_t i = 0; i < kReaders; ++i) answers.receive(&byte, 1);
  });
  bodies.send(nullptr, 0);
  for (Process& reader : readers) reader.join();
  return report;
}

}  // namespace muster::bench::zmq
