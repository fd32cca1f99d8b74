#pragma once

#include "benchmarks/common/collective.h"

namespace muster::bench::mpi {

// One rank, started by mpirun. Rank 0 prints "value <microseconds>".
int run_rank(const char* name, double seconds);

}  // namespace muster::bench::mpi
