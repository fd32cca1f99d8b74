"""bench_ray: an empty actor call, and weights by way of ray's object store."""

import contextlib
import io
import logging
from typing import Any

import numpy as np
import ray

from benchmarks.python import work
from benchmarks.python.contract import Sample, clock, main
from benchmarks.python.unwaited import unwaited_seconds


@contextlib.contextmanager
def cluster(cpus: int) -> Any:
    # It talks a lot, and only the result may stand on stdout.
    with contextlib.redirect_stdout(io.StringIO()):
        ray.init(
            num_cpus=cpus,
            include_dashboard=False,
            logging_level=logging.ERROR,
            log_to_driver=False,
            object_store_memory=1 << 30,
        )
    try:
        yield
    finally:
        ray.shutdown()


@ray.remote
class Echo:
    def call(self, body: Any) -> Any:
        return body

    def take(self, array: np.ndarray, number: int) -> float:
        work.glance(array, number)
        return clock()


def with_helpers(sample: Sample) -> Sample:
    """Before they end: the raylet ignores the end of the workers that it has started."""
    sample["extra"]["unwaited_seconds"] = unwaited_seconds()
    return sample


def tasks(seconds: float) -> Sample:
    with cluster(2):
        echo = Echo.remote()
        return with_helpers(work.time_tasks(lambda body: ray.get(echo.call.remote(body)), seconds))


def broadcast(seconds: float) -> Sample:
    with cluster(8):
        takers = [Echo.remote() for _ in range(8)]
        array = np.empty(work.LARGE // 8)

        def hand_over(number: int) -> tuple[float, float]:
            work.fill(array, number)
            begin = clock()
            stored = ray.put(array)
            return begin, max(ray.get([taker.take.remote(stored, number) for taker in takers]))

        return with_helpers(work.time_arrays(hand_over, seconds, "ms"))


CASES = {"py.task.shm": tasks, "py.broadcast": broadcast}

if __name__ == "__main__":
    main(CASES)
