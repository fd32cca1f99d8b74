"""bench_mpi4py: the all-reduce of the suite `python`, by mpi4py under Debian's Open MPI."""

import os
import subprocess
import sys

from benchmarks.python import work
from benchmarks.python.contract import NO_SUCH_CASE, Sample, main

RANKS = 4
CASES = ("py.allreduce",)


def all_reduce(seconds: float) -> Sample | None:
    from mpi4py import MPI

    ranks = MPI.COMM_WORLD
    return work.time_all_reduce(
        rank=ranks.rank,
        size=ranks.size,
        make=work.plain_array,
        operate=ranks.Allreduce,
        barrier=ranks.Barrier,
        agree=lambda goes_on: ranks.bcast(goes_on),
        seconds=seconds,
    )


def under_mpirun() -> int:
    """Starts the ranks; the first of them prints."""
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(RANKS)]
    return subprocess.run(
        [*command, sys.executable, "-B", *sys.orig_argv[2:]], check=False
    ).returncode


if __name__ == "__main__":
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        main({name: all_reduce for name in CASES})
    elif sys.argv[1:] and sys.argv[1] in CASES:
        sys.exit(under_mpirun())
    elif sys.argv[1:] and sys.argv[1] != "--list":
        sys.exit(NO_SUCH_CASE)
    else:
        main({name: all_reduce for name in CASES})
