#include "muster/msg/dispatch.h"

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "muster/msg/proxy_wait.h"
#include "muster/msg/workload.h"

namespace muster::msg {
namespace {

using internal::Waited;

struct Task {
  Draft draft;
  int tries = 0;
};

struct Finished {
  PeerId worker;
  Task task;
  Result<Message> result;
};

// What the answers leave behind, under the baton, until run() takes it. It may
// outlive run(): an answer can come late.
struct Inbox {
  std::deque<Finished> finished;
};

// One call of Dispatch::run().
class Run {
 public:
  Run(Proxy& proxy, const DispatchOptions& options, const Dispatch::Next& next,
      const Dispatch::Done& done)
      : proxy_(proxy), options_(options), next_(next), done_(done), load_(options.per_worker) {}

  Result<DispatchReport> drive(const Wait& wait) {
    const TimePoint deadline = wait.deadline_from([this] { return proxy_.loop().now(); });
    for (;;) {
      MUSTER_TRY_OK(give_out());
      if (under_way_ == 0 && is_dry_ && again_.empty()) return report_;
      std::deque<Finished> finished;
      std::vector<PeerId> workers;
      const Waited waited = internal::wait_for(proxy_.loop(), wait, deadline, [&] {
        if (!finished.empty()) return true;
        finished.swap(inbox_->finished);
        return !finished.empty() || has_new_workers();
      });
      for (Finished& one : finished) take(std::move(one));
      if (waited != Waited::done) return internal::why_not(waited, "dispatch");
    }
  }

 private:
  // Workers that are here, as far as anybody knows.
  std::vector<PeerId> workers() const {
    std::vector<PeerId> here;
    for (const PeerInfo& info : proxy_.peers()) {
      if (info.presence == Presence::here && options_.workers.has(info.name, info.type)) {
        here.push_back(info.id);
      }
    }
    return here;
  }

  // Only while a task waits for somebody to take it.
  bool has_new_workers() {
    if (!waits_for_worker_) return false;
    load_.set_workers(workers());
    const std::optional<PeerId> worker = load_.give();
    if (worker) load_.done(*worker);
    return worker.has_value();
  }

  Status give_out() {
    load_.set_workers(workers());
    for (;;) {
      waits_for_worker_ = false;
      std::optional<Task> task = next_task();
      if (!task) return ok();
      const std::optional<PeerId> worker = load_.give();
      if (!worker) {
        again_.push_front(*std::move(task));
        waits_for_worker_ = true;
        return ok();
      }
      give(*worker, *std::move(task));
      if (std::optional<Error> end = proxy_.ended()) return *std::move(end);
    }
  }

  std::optional<Task> next_task() {
    if (!again_.empty()) {
      std::optional<Task> task = std::move(again_.front());
      again_.pop_front();
      return task;
    }
    if (is_dry_) return std::nullopt;
    std::optional<Draft> draft = next_();
    is_dry_ = !draft;
    if (is_dry_) return std::nullopt;
    return Task{*std::move(draft)};
  }

  void give(PeerId worker, Task task) {
    ++task.tries;
    ++under_way_;
    task.draft.destination = worker;
    task.draft.session_type = SessionType::task;
    Draft draft = task.draft;
    proxy_.request(std::move(draft))
        .then([inbox = inbox_, worker,
               task = std::make_shared<Task>(std::move(task))](Result<Message> result) {
          inbox->finished.push_back({worker, std::move(*task), std::move(result)});
        });
  }

  void take(Finished one) {
    --under_way_;
    load_.done(one.worker);
    const bool is_lost = !one.result && one.result.error().code() == Code::unavailable;
    if (is_lost && one.task.tries < options_.max_tries) {
      ++report_.given_again;
      again_.push_back(std::move(one.task));
      return;
    }
    ++(one.result ? report_.done : report_.failed);
    if (done_) done_(one.task.draft, std::move(one.result));
  }

  Proxy& proxy_;
  const DispatchOptions& options_;
  const Dispatch::Next& next_;
  const Dispatch::Done& done_;
  Workload load_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::deque<Task> again_;
  std::size_t under_way_ = 0;
  bool is_dry_ = false;
  bool waits_for_worker_ = false;
  DispatchReport report_;
};

}  // namespace

Result<DispatchReport> Dispatch::run(const Next& next, const Done& done, const Wait& wait) {
  return Run(proxy_, options_, next, done).drive(wait);
}

}  // namespace muster::msg
