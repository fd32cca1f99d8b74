#include "benchmarks/peers/mpi/rank.h"

#include <cstdio>
#include <vector>

#include <mpi.h>

#include "benchmarks/common/fail.h"

namespace muster::bench::mpi {
namespace {

void operate(const CollectiveJob& job, std::vector<float>& input, std::vector<float>& result) {
  const auto count = static_cast<int>(job.elements);
  float* const in = input.data();
  float* const out = result.data();
  switch (job.operation) {
    case Collective::broadcast: MPI_Bcast(out, count, MPI_FLOAT, 0, MPI_COMM_WORLD); return;
    case Collective::scatter:
      MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
      return;
    case Collective::gather:
      MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
      return;
    case Collective::reduce:
      MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
      return;
    case Collective::allreduce:
      MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      return;
    case Collective::allgather:
      MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
      return;
    case Collective::reduce_scatter:
      MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      return;
    case Collective::alltoall:
      MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, MPI_COMM_WORLD);
      return;
  }
}

}  // namespace

int run_rank(const char* name, double seconds) {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const auto job = CollectiveJob::parse(name);
  if (!job || job->ranks != size) fail("started with a wrong number of ranks");
  std::vector<float> input(job->input_elements(rank));
  std::vector<float> result(job->result_elements(rank));
  CollectiveParts parts;
  parts.rank = rank;
  parts.input = input;
  parts.result = result;
  parts.operate = [&] { operate(*job, input, result); };
  parts.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  parts.agree = [](std::uint64_t value) {
    MPI_Bcast(&value, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return value;
  };
  const Report report = time_collective(*job, parts, seconds);
  if (rank == 0) std::printf("value %.6g\n", report.value);
  MPI_Finalize();
  return 0;
}

}  // namespace muster::bench::mpi
