// One learner and its workers: tasks scattered and collected.
#include "benchmarks/common/scatter.h"

#include <cstring>
#include <list>

#include "benchmarks/common/process.h"
#include "benchmarks/muster/cases.h"
#include "benchmarks/muster/group.h"

namespace muster::bench::ours {
namespace {

using namespace std::chrono_literals;

void work_for_learner(const std::string& folder, std::size_t index) {
  Member member(Over::shm, folder, "worker", "worker_" + std::to_string(index),
                {{.name = "learner"}});
  for (const msg::Message& task : member.proxy().receive()) {
    if (task.is("stop")) break;
    work();
    must(member.proxy().reply(task, task.body()));
  }
}

class Learner {
 public:
  Learner(msg::Proxy& proxy, const std::vector<std::string>& names) : proxy_(proxy) {
    for (const std::string& name : names) workers_.emplace_back(must(proxy.find(name)));
  }

  void round(Tasks& tasks) {
    std::vector<std::pair<msg::Destination, wire::Value>> bodies;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      bodies.emplace_back(workers_[i],
                          Buffer::copy_of(std::as_bytes(std::span(&tasks[i], std::size_t{1}))));
    }
    const msg::Replies replies = must(proxy_.scatter({.tag = "task"}, std::move(bodies), 30s));
    if (!replies.is_complete()) fail("a worker did not answer");
    for (std::size_t i = 0; i < kWorkers; ++i) {
      const Buffer* const body = replies.messages[i].body().as_bytes();
      if (body == nullptr || body->size() != sizeof tasks[i]) fail("an answer of the wrong size");
      std::memcpy(&tasks[i], body->data(), sizeof tasks[i]);
    }
  }

 private:
  msg::Proxy& proxy_;
  std::vector<msg::PeerId> workers_;
};

}  // namespace

Report scatter_crowd(const Options& options) {
  const Folder folder;
  std::list<Process> workers;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    workers.emplace_back([&, i] { work_for_learner(folder.path(), i); });
  }
  Report report;
  {
    Member member(Over::shm, folder.path(), "learner", "learner",
                  {{.type = "worker", .count = kWorkers}});
    msg::Proxy& proxy = member.proxy();
    Learner learner(proxy, proxy.peer_names("worker"));
    report = count_tasks(options, [&](Tasks& tasks) { learner.round(tasks); });
    must(proxy.ibroadcast(msg::Audience::type("worker"),
                          {.tag = "stop", .session_type = msg::SessionType::notification}));
    must(proxy.leave(5s));
  }
  for (Process& worker : workers) worker.join();
  return report;
}

}  // namespace muster::bench::ours
