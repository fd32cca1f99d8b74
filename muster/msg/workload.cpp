#include "muster/msg/workload.h"

#include <algorithm>
#include <utility>

namespace muster::msg {

Workload::Worker* Workload::find(PeerId id) {
  const auto found = std::ranges::find(workers_, id, &Worker::id);
  return found != workers_.end() ? &*found : nullptr;
}

void Workload::set_workers(const std::vector<PeerId>& workers) {
  for (Worker& worker : workers_) {
    worker.is_here = std::ranges::find(workers, worker.id) != workers.end();
  }
  std::erase_if(workers_, [](const Worker& worker) { return !worker.is_here && worker.load == 0; });
  for (const PeerId id : workers) {
    if (find(id) == nullptr) workers_.push_back({id, 0, 0, true});
  }
}

std::optional<PeerId> Workload::give() {
  Worker* best = nullptr;
  for (Worker& worker : workers_) {
    if (!worker.is_here || worker.load >= per_worker_) continue;
    if (best == nullptr ||
        std::pair(worker.load, worker.last_done) < std::pair(best->load, best->last_done)) {
      best = &worker;
    }
  }
  if (best == nullptr) return std::nullopt;
  ++best->load;
  return best->id;
}

void Workload::done(PeerId id) {
  Worker* worker = find(id);
  if (worker == nullptr || worker->load == 0) return;
  --worker->load;
  worker->last_done = ++clock_;
}

std::size_t Workload::load(PeerId id) const {
  const auto found = std::ranges::find(workers_, id, &Worker::id);
  return found != workers_.end() ? found->load : 0;
}

}  // namespace muster::msg
