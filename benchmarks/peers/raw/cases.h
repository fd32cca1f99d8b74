// The cases of bench_raw: small programs that show what the machine allows.
#pragma once

#include "benchmarks/common/program.h"

namespace muster::bench::raw {

Report shm_awake(const Options& options);
Report shm_parked(const Options& options);
Report shm_inplace(const Options& options);
Report shm_handover_asleep(const Options& options);
Report tcp_awake(const Options& options);
Report tcp_parked(const Options& options);
Report tcp_large(const Options& options);
Report memory_copy(const Options& options);
Report memory_read(const Options& options);

Report allreduce(std::string_view name, const Options& options);

}  // namespace muster::bench::raw
