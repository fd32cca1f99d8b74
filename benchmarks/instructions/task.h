// One task from proxy to proxy, and its reply, on one loop of one process.
#pragma once

#include <cstddef>

namespace muster::bench {

// `count` of them. No trace is written: what it costs that one could be is part of it.
void run_tasks(std::size_t count);

}  // namespace muster::bench
