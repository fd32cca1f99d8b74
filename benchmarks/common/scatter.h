// One learner hands a task to each of eight workers, collects what they answer,
// and begins anew: tasks/s.
//
// A task is 64 stamped bytes and 10 us of work by the clock; its answer is the
// same bytes. Whoever lost or mixed up one fails.
#pragma once

#include <array>
#include <functional>

#include "benchmarks/common/message.h"
#include "benchmarks/common/program.h"

namespace muster::bench {

inline constexpr std::size_t kWorkers = 8;

using Tasks = std::array<Message, kWorkers>;

// What a worker does for each task.
void work();

// The learner's side: `round` hands out the tasks and puts the answers in their
// places.
Report count_tasks(const Options& options, const std::function<void(Tasks&)>& round);

}  // namespace muster::bench
