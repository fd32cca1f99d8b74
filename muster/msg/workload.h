// Workload: which worker gets the next task. Pure.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "muster/msg/message.h"

namespace muster::msg {

class Workload {
 public:
  explicit Workload(std::size_t per_worker) : per_worker_(per_worker) {}

  // Who is there now. Those who are not are given nothing more; what they have
  // still counts until it is done.
  void set_workers(const std::vector<PeerId>& workers);

  // The one with the fewest tasks, of those the one that was idle longest; it
  // has one more now. None if all have as many as they may.
  std::optional<PeerId> give();
  // The task that it was given is no more.
  void done(PeerId worker);

  std::size_t size() const { return workers_.size(); }
  std::size_t load(PeerId worker) const;

 private:
  struct Worker {
    PeerId id;
    std::size_t load = 0;
    std::uint64_t last_done = 0;
    bool is_here = true;
  };
  Worker* find(PeerId id);

  const std::size_t per_worker_;
  std::uint64_t clock_ = 0;
  std::vector<Worker> workers_;
};

}  // namespace muster::msg
