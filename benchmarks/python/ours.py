"""bench_muster of the suite `python`."""

import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

import muster
from benchmarks.python import work
from benchmarks.python.contract import Children, Sample, check, clock, main, sample

NOTE = muster.SessionType.NOTIFICATION
LOOPBACK = ["tcp://127.0.0.1:0"]


def join(folder: str, name: str, *others: str, **options: Any) -> muster.Proxy:
    return muster.Proxy(
        "bench", name, name, registry=folder, expected=list(others), timeout=20, **options
    )


def with_folder(measure: Any, *args: Any) -> Sample:
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        os.environ.setdefault("XDG_CONFIG_HOME", folder)
        return measure(folder, *args)


def serve_tasks(folder: str, options: dict[str, Any]) -> None:
    with join(folder, "server", "client", **options) as proxy:
        for message in proxy.receive():
            if message.tag == "stop":
                break
            proxy.reply(message, message.body)


def tasks(folder: str, seconds: float, options: dict[str, Any]) -> Sample:
    with Children() as children:
        children.start(serve_tasks, folder, options)
        with join(folder, "client", "server", **options) as proxy:
            send = proxy.send
            result = work.time_tasks(lambda body: send("task", "server", body).body, seconds)
            proxy.send("stop", "server", session_type=NOTE)
            return result


def send_stream(folder: str, make: Any, seconds: float) -> None:
    with join(folder, "sender", "receiver") as proxy:
        isend = proxy.isend

        def send(body: Any) -> None:
            while True:
                try:
                    isend("n", "receiver", body, NOTE)
                    return
                except muster.OverloadedError:
                    os.sched_yield()

        work.send_stream(send, make, seconds)


def stream(folder: str, seconds: float, make: Any, read: Any) -> Sample:
    with Children() as children:
        children.start(send_stream, folder, make, seconds)
        with join(folder, "receiver", "sender") as proxy:
            bodies = (message.body for message in proxy.receive(20))
            return work.rate(work.count_stream(bodies, read))


def take_arrays(folder: str, name: str, look: Any) -> None:
    with join(folder, name, "sender") as proxy:
        for message in proxy.receive():
            if message.tag == "stop":
                return
            if message.tag == "knock":
                proxy.reply(message)
                continue
            # With each message the array of the one before is let go.
            look(message.body["array"], message.body["number"])
            proxy.reply(message, clock())


def knock(proxy: muster.Proxy) -> None:
    """Small messages to and fro until both ends are awake."""
    for _ in range(100):
        begin = clock()
        proxy.send("knock", "receiver")
        if clock() - begin < 50e-6:
            return


def arrays(
    folder: str, seconds: float, size: int, mark: Any, look: Any, unit: str, awake: bool = False
) -> Sample:
    with Children() as children:
        children.start(take_arrays, folder, "receiver", look)
        with join(folder, "sender", "receiver") as proxy:

            def hand_over(number: int) -> tuple[float, float]:
                array = muster.empty(size // 8)
                mark(array, number)
                if awake:
                    knock(proxy)
                begin = clock()
                answer = proxy.send("array", "receiver", {"array": array, "number": number}, 30)
                return begin, answer.body

            result = work.time_arrays(hand_over, seconds, unit)
            proxy.send("stop", "receiver", session_type=NOTE)
            return result


def handovers(folder: str, seconds: float, size: int) -> Sample:
    return arrays(folder, seconds, size, work.stamp, work.read_stamp, "us", awake=True)


def broadcast(folder: str, seconds: float) -> Sample:
    names = [f"taker_{i}" for i in range(8)]
    with Children() as children:
        for name in names:
            children.start(take_arrays, folder, name, work.glance)
        with join(folder, "sender", *names) as proxy:

            def hand_over(number: int) -> tuple[float, float]:
                array = muster.empty(work.LARGE // 8)
                work.fill(array, number)
                begin = clock()
                replies = proxy.broadcast("array", None, {"array": array, "number": number}, 30)
                check(len(replies) == 8, "not all have answered")
                return begin, max(reply.body for reply in replies)

            result = work.time_arrays(hand_over, seconds, "ms")
            proxy.broadcast("stop", session_type=NOTE, timeout=20)
            return result


def reduce_as(folder: str, rank: int, make: Any, seconds: float) -> Sample | None:
    with muster.Communicator("bench", rank, 4, 20, registry=folder) as ranks:

        def agree(goes_on: bool) -> bool:
            word = np.array([goes_on], np.uint8)
            return bool(ranks.broadcast(word)[0])

        return work.time_all_reduce(
            rank=rank,
            size=4,
            make=make,
            operate=ranks.all_reduce,
            barrier=ranks.barrier,
            agree=agree,
            seconds=seconds,
        )


def all_reduce(folder: str, seconds: float, make: Any) -> Sample | None:
    with Children() as children:
        for rank in range(1, 4):
            children.start(reduce_as, folder, rank, make, seconds)
        return reduce_as(folder, 0, make, seconds)


def arena_array() -> np.ndarray:
    return muster.empty(work.LARGE // 4, np.float32)


IMPORT = """
import os, time
import numpy
before = os.listdir("/proc/self/task"), os.listdir("/proc/self/fd")
begin = time.perf_counter()
import muster
spent = time.perf_counter() - begin
assert (os.listdir("/proc/self/task"), os.listdir("/proc/self/fd")) == before
print(spent)
"""


def importing(seconds: float) -> Sample:
    times = []
    for _ in range(max(3, int(seconds * 10))):
        done = subprocess.run(
            [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=False
        )
        check(done.returncode == 0, done.stderr)
        times.append(float(done.stdout))
    return sample(sorted(times)[len(times) // 2] * 1e3, "ms")


CASES = {
    "py.task.shm": lambda s: with_folder(tasks, s, {}),
    "py.task.tcp": lambda s: with_folder(tasks, s, {"listen": LOOPBACK}),
    "py.stream": lambda s: with_folder(stream, s, work.small, work.read_small),
    "py.stream.dict": lambda s: with_folder(stream, s, work.small_dict, work.read_small_dict),
    "py.large": lambda s: with_folder(arrays, s, work.LARGE, work.fill, work.total, "ms"),
    "py.handover.64K": lambda s: with_folder(handovers, s, 64 << 10),
    "py.handover.256M": lambda s: with_folder(handovers, s, 256 << 20),
    "py.broadcast": lambda s: with_folder(broadcast, s),
    "py.allreduce": lambda s: with_folder(all_reduce, s, work.plain_array),
    "py.allreduce.arena": lambda s: with_folder(all_reduce, s, arena_array),
    "py.import": importing,
}

if __name__ == "__main__":
    main(CASES)
