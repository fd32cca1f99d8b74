// The cases of bench_nng, for information.
#pragma once

#include "benchmarks/common/program.h"

namespace muster::bench::nng {

Report ipc_awake(const Options& options);
Report ipc_parked(const Options& options);
Report ipc_stream(const Options& options);
Report tcp_awake(const Options& options);
Report tcp_parked(const Options& options);
Report tcp_stream(const Options& options);

}  // namespace muster::bench::nng
