// The cases of bench_zmq: libzmq at its best, over ipc and over TCP.
#pragma once

#include "benchmarks/common/program.h"

namespace muster::bench::zmq {

Report ipc_awake(const Options& options);
Report ipc_parked(const Options& options);
Report ipc_stream(const Options& options);
Report ipc_large(const Options& options);
Report ipc_crowd(const Options& options);
Report ipc_scatter(const Options& options);
Report ipc_broadcast(const Options& options);
Report tcp_awake(const Options& options);
Report tcp_parked(const Options& options);
Report tcp_stream(const Options& options);
Report tcp_large(const Options& options);
Report curve_awake(const Options& options);
Report curve_stream(const Options& options);
Report curve_large(const Options& options);

}  // namespace muster::bench::zmq
