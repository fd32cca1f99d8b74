"""Tells whether something else used the machine while a sample was taken.

A sample beside a running compiler is off by a factor, not by a few per cent,
so such samples are dropped and taken again.
"""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

FOREIGN_LIMIT = 0.15
"""A sample during which others used this share of the machine or more is dropped."""

_IDLE = (3, 4)  # idle and iowait, among the columns of /proc/stat
_GUEST = 8  # guest time from here on, which the user column holds already


@dataclass(frozen=True)
class CpuTimes:
    """Seconds of all processors together since some moment in the past."""

    busy: float
    total: float


def parse_stat(text: str, ticks_per_second: int) -> CpuTimes:
    """Reads the first line of /proc/stat.

    Interrupts and time stolen by the hypervisor count as busy. The kernel
    charges the former to the process they interrupt, so what the sample's own
    sockets cause is in its own time as well and cancels out; the latter is
    somebody else's use of this machine by any other name.
    """
    name, *columns = text.splitlines()[0].split()
    if name != "cpu":
        raise ValueError(f"not /proc/stat: {text[:40]!r}")
    ticks = [int(column) for column in columns[:_GUEST]]
    idle = sum(ticks[i] for i in _IDLE)
    return CpuTimes((sum(ticks) - idle) / ticks_per_second, sum(ticks) / ticks_per_second)


def foreign_share(before: CpuTimes, after: CpuTimes, own: float) -> float:
    """The share (0 to 1) of all processor time that others used between two looks.

    `own` is what the sample's own processes used, in seconds.
    """
    total = after.total - before.total
    if total <= 0:
        # Shorter than a tick: there is nothing to tell, so it is not trusted.
        return 1.0
    # Ticks are coarse and `own` is exact, so the difference can be below zero.
    return max(0.0, after.busy - before.busy - own) / total


def children_seconds() -> float:
    """What all children that have ended and were waited for used, theirs included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Guard:
    """Watches from its making until it is asked; children must be reaped by then."""

    def __init__(self) -> None:
        self._own = children_seconds()
        self._start = _read_stat()
        self._end: CpuTimes | None = None

    def foreign(self, unwaited: float = 0.0) -> float:
        """`unwaited`: seconds of processes of the sample that nobody has waited for."""
        own = children_seconds() - self._own + unwaited
        return foreign_share(self._start, self._end or _read_stat(), own)

    def stop(self) -> None:
        """The sample is over; what comes does not count."""
        self._end = _read_stat()


def wait_for_tick() -> None:
    """Starts the next sample on a tick, which halves the rounding error."""
    start = _read_stat().total
    deadline = time.monotonic() + 0.05
    while _read_stat().total == start and time.monotonic() < deadline:
        time.sleep(0.001)


def _read_stat() -> CpuTimes:
    return parse_stat(Path("/proc/stat").read_text(), os.sysconf("SC_CLK_TCK"))
