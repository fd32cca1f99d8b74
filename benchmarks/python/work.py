"""The work itself, with the transport left out: each program adds its own."""

import struct
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.python.contract import Sample, WrongBytesError, check, clock, p50, sample

SMALL = 64
LARGE = 64 << 20
DICT = {"step": 3, "reward": 1.5, "done": False, "name": "worker_1"}
STOP = b"stop"


def time_tasks(call: Callable[[Any], Any], seconds: float) -> Sample:
    """`call` gives back what it was given."""
    for i in range(200):
        check(call({**DICT, "step": i})["step"] == i, "a wrong reply")
    times = []
    end = clock() + seconds
    while clock() < end:
        for _ in range(50):
            body = {**DICT, "step": len(times)}
            begin = time.perf_counter()
            reply = call(body)
            times.append(time.perf_counter() - begin)
            check(reply == body, "a wrong reply")
    return p50(times, "us")


# Takes exactly so many bytes.
_SMALL = struct.Struct(f"<Q{SMALL - 8}x")


def small(number: int) -> bytes:
    return _SMALL.pack(number)


def small_dict(number: int) -> dict[str, Any]:
    return {"step": number, "reward": 1.5, "done": False, "name": "worker_1"}


def send_stream(send: Callable[[Any], None], make: Callable[[int], Any], seconds: float) -> None:
    """For so long; the receiver stops by itself when it has seen the number -1."""
    end = clock() + seconds
    number = 0
    while clock() < end:
        for _ in range(200):
            send(make(number))
            number += 1
    send(make(2**40))


def count_stream(received: Iterable[Any], read: Callable[[Any], int]) -> float:
    """Messages in a second. The first tenth or so is for warming up."""
    begin, count, skipped = 0.0, 0, 2000
    for body in received:
        number = read(body)
        if number == 2**40:
            break
        if number != count:
            raise WrongBytesError(f"message {number} where {count} is next")
        count += 1
        if count == skipped:
            begin = time.perf_counter()
    if count <= skipped:
        return 1.0
    return (count - skipped) / (time.perf_counter() - begin)


def read_small(body: bytes) -> int:
    return _SMALL.unpack(body)[0]


def read_small_dict(body: dict[str, Any]) -> int:
    if body["name"] != "worker_1":
        raise WrongBytesError("a wrong dict")
    return body["step"]


def rate(value: float) -> Sample:
    return sample(value, "msg/s", lower_is_better=False)


def fill(array: np.ndarray, number: int) -> None:
    """So that every word tells which array it is of."""
    array[:] = number


STRIDE = 1 << 17  # 1 MiB of float64.


def stamp(array: np.ndarray, number: int) -> None:
    """A word of every MiB, and the last: what is to be handed over need not be new in all parts."""
    array[::STRIDE] = number
    array[-1] = number


def read_stamp(array: np.ndarray, number: int) -> None:
    check(bool(array[-1] == number) and bool(array[0] == number), "a wrong array")


def total(array: np.ndarray, number: int) -> None:
    check(float(array.sum()) == float(number) * array.size, "an array with a wrong sum")


def glance(array: np.ndarray, number: int) -> None:
    check(bool((array[:: max(1, array.size // 16)] == number).all()), "a wrong array")


def time_arrays(
    hand_over: Callable[[int], tuple[float, float]], seconds: float, unit: str
) -> Sample:
    """`hand_over` sends array number i, and tells when it began and when it was there."""
    for i in range(1, 4):
        hand_over(i)
    times: list[float] = []
    end = clock() + seconds
    while clock() < end or len(times) < 3:
        begin, there = hand_over(len(times) + 4)
        times.append(there - begin)
    return p50(times, unit)


# Rounds of an all-reduce that are not counted, as in benchmarks/common/collective.cpp: until then
# pages are touched for the first time.
WARMING = 6


def plain_array() -> np.ndarray:
    return np.empty(LARGE // 4, np.float32)


def time_all_reduce(
    *,
    rank: int,
    size: int,
    make: Callable[[], np.ndarray],
    operate: Callable[[np.ndarray, np.ndarray], Any],
    barrier: Callable[[], Any],
    agree: Callable[[bool], bool],
    seconds: float,
) -> Sample | None:
    """64 MiB of float32, from when all are ready until all are done, as in the C++ programs."""
    mine, result = make(), make()
    result[:] = 0
    times = []
    end = 0.0
    rounds = 0
    while True:
        if rounds == WARMING:
            end = clock() + seconds
        rounds += 1
        mine[:] = rank + rounds
        barrier()
        begin = clock()
        operate(mine, result)
        barrier()
        times.append(clock() - begin)
        expected = sum(other + rounds for other in range(size))
        check(bool((result == expected).all()), "a wrong sum")
        if not agree(rounds < WARMING + 3 or clock() < end):
            break
    return p50(times[WARMING:], "us") if rank == 0 else None
