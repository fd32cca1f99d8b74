// One learner and eight workers over ipc: a DEALER hands tasks out in turn and
// takes the answers as they come, which needs no addresses to be copied around.
#include "benchmarks/common/scatter.h"

#include <list>

#include <zmq.h>

#include "benchmarks/common/process.h"
#include "benchmarks/peers/zmq/cases.h"
#include "benchmarks/peers/zmq/socket.h"

namespace muster::bench::zmq {
namespace {

void work_for_learner(const Notice& bound) {
  Socket socket(ZMQ_DEALER);
  socket.connect(bound);
  Message task{};
  stamp(task, kStop);
  socket.send(&task, sizeof(task));  // "Here I am": a DEALER hands out to who is there.
  for (;;) {
    socket.receive(&task, sizeof(task));
    if (is_stamped(task, kStop)) return;
    work();
    socket.send(&task, sizeof(task));
  }
}

}  // namespace

Report ipc_scatter(const Options& options) {
  const Shared<Notice> bound;
  const std::string address = ipc_address();
  std::list<Process> workers;
  for (std::size_t i = 0; i < kWorkers; ++i)
    workers.emplace_back([&] { work_for_learner(*bound); });
  Socket socket(ZMQ_DEALER);
  socket.bind(address, *bound);
  Message message{};
  for (std::size_t i = 0; i < kWorkers; ++i) socket.receive(&message, sizeof(message));
  const Report report = count_tasks(options, [&](Tasks& tasks) {
    for (const Message& task : tasks) socket.send(&task, sizeof(task));
    for (Message& task : tasks) socket.receive(&task, sizeof(task));
  });
  stamp(message, kStop);
  for (std::size_t i = 0; i < kWorkers; ++i) socket.send(&message, sizeof(message));
  for (Process& worker : workers) worker.join();
  return report;
}

}  // namespace muster::bench::zmq
