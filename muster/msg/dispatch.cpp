#include "muster/msg/dispatch.h"

#include <deque>
#include <memory>
#include <unordered_set>
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
  SessionId session = {};
};

struct Finished {
  PeerId worker;
  std::shared_ptr<Task> task;
  Result<Message> result;
  bool was_answered;  // By the worker, if only with a failure.
};

// What the answers leave behind, under the baton, until run() takes it. It may
// outlive run(): an answer can come late.
struct Inbox {
  std::deque<Finished> finished;
};

}  // namespace

// One call of Dispatch::run().
class Dispatch::Run {
 public:
  Run(Proxy& proxy, const DispatchOptions& options, const Next& next, const Done& done)
      : proxy_(proxy), options_(options), next_(next), done_(done), load_(options.per_worker) {}
  ~Run() {
    for (const SessionId id : under_way_) proxy_.cancel(id);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<DispatchReport> drive(const Wait& wait) {
    const TimePoint deadline = wait.deadline_from([this] { return proxy_.loop().now(); });
    look_for_workers();
    for (;;) {
      give_out();
      if (under_way_.empty() && is_dry_ && again_.empty()) return report_;
      std::deque<Finished> finished;
      const Waited waited = proxy_.attend(wait, deadline, [&] {
        if (finished.empty()) finished.swap(inbox_->finished);
        return !finished.empty() || proxy_.changes() != seen_ ||
               (rooms_ && proxy_.rooms() != *rooms_) || proxy_.ended();
      });
      for (Finished& one : finished) take(std::move(one));
      if (waited != Waited::done) return internal::why_not(waited, "dispatch");
      if (std::optional<Error> end = proxy_.ended()) return *std::move(end);
      if (proxy_.changes() != seen_) look_for_workers();
    }
  }

 private:
  void look_for_workers() {
    seen_ = proxy_.changes();
    std::vector<PeerId> here;
    for (const PeerInfo& info : proxy_.peers()) {
      if (info.presence == Presence::here && options_.workers.has(info.name, info.type)) {
        here.push_back(info.id);
      }
    }
    load_.set_workers(here);
  }

  void give_out() {
    rooms_.reset();
    while (std::optional<Task> task = next_task()) {
      const std::optional<PeerId> worker = load_.give();
      if (!worker) {
        again_.push_front(*std::move(task));
        return;
      }
      give(*worker, *std::move(task));
      if (rooms_) return;
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
    const std::uint64_t rooms = proxy_.rooms();
    task.draft.destination = worker;
    task.draft.session_type = SessionType::task;
    task.draft.answers = Answers::by_id;
    const auto given = std::make_shared<Task>(std::move(task));
    const Result<SessionId> asked = proxy_.ask(
        given->draft, [inbox = inbox_, worker, given](Result<Message> result, bool was_answered) {
          inbox->finished.push_back({worker, given, std::move(result), was_answered});
        });
    if (asked) {
      ++given->tries;
      given->session = *asked;
      under_way_.insert(*asked);
      return;
    }
    load_.done(worker);
    if (asked.error().code() == Code::overloaded) {
      again_.push_front(std::move(*given));
      rooms_ = rooms;
      return;
    }
    ++given->tries;
    look_for_workers();  // This one is gone.
    settle(*given, asked.error(), false);
  }

  void take(Finished one) {
    under_way_.erase(one.task->session);
    load_.done(one.worker);
    settle(*one.task, std::move(one.result), one.was_answered);
  }

  void settle(Task& task, Result<Message> result, bool was_answered) {
    const bool is_lost = !was_answered && !result && result.error().code() == Code::unavailable;
    if (is_lost && task.tries < options_.max_tries) {
      ++report_.given_again;
      again_.push_back(std::move(task));
      return;
    }
    ++(result ? report_.done : report_.failed);
    if (done_) done_(task.draft, std::move(result));
  }

  Proxy& proxy_;
  const DispatchOptions& options_;
  const Next& next_;
  const Done& done_;
  Workload load_;
  std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  std::deque<Task> again_;
  std::unordered_set<SessionId> under_way_;
  std::uint64_t seen_ = 0;              // Of the proxy's changes.
  std::optional<std::uint64_t> rooms_;  // When there was no room for a task.
  bool is_dry_ = false;
  DispatchReport report_;
};

Result<DispatchReport> Dispatch::run(const Next& next, const Done& done, const Wait& wait) {
  return Run(proxy_, options_, next, done).drive(wait);
}

}  // namespace muster::msg
