// The cases of bench_muster.
#pragma once

#include "benchmarks/common/program.h"

namespace muster::bench::ours {

Report shm_awake(const Options& options);
Report shm_parked(const Options& options);
Report tcp_awake(const Options& options);
Report tcp_parked(const Options& options);
Report shm_stream(const Options& options);
Report tcp_stream(const Options& options);
Report shm_inplace(const Options& options);
Report shm_handover_64k(const Options& options);
Report shm_handover_256m(const Options& options);
Report shm_handover_asleep(const Options& options);
Report shm_copied(const Options& options);
Report shm_noptrace(const Options& options);
Report tcp_large(const Options& options);
Report tls_awake(const Options& options);
Report tls_large(const Options& options);
Report zmq_rtt(const Options& options);
Report zmq_stream(const Options& options);
Report zmq_large(const Options& options);
Report curve_rtt(const Options& options);
Report curve_stream(const Options& options);
Report curve_large(const Options& options);
Report ucx_awake(const Options& options);
Report ucx_large(const Options& options);
Report shm_crowd(const Options& options);
Report memory_link(const Options& options);
Report memory_1000(const Options& options);
Report event_push(const Options& options);
Report task_shm(const Options& options);
Report task_tcp(const Options& options);
Report scatter_crowd(const Options& options);
Report broadcast_large(const Options& options);
Report join_50(const Options& options);
Report loss_known(const Options& options);

// A job of benchmarks/common/collective.h, by its name.
bool has_collective(std::string_view name);
Report collective(std::string_view name, const Options& options);
// What the loops of reductions do, held against memcpy (kernels.cpp).
Report kernel_copy(const Options& options);
Report kernel_sum_two(const Options& options);
Report kernel_sum_four(const Options& options);

}  // namespace muster::bench::ours
