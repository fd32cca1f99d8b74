"""The processor time of helpers that a daemon of somebody else's starts and does not wait for.

The kernel gives a process the time of children that it has waited for. Who ignores SIGCHLD waits
for none, so nothing of theirs ever reaches this process, and to whoever looks at the machine they
are strangers.
"""

import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_FIRST = 3  # The number of the first field behind the name, in proc(5).


@dataclass(frozen=True)
class Process:
    parent: int
    seconds: float
    """With those of children that it has waited for."""
    waits: bool


def parse(stat: str, status: str) -> Process:
    """Reads /proc/PID/stat and /proc/PID/status."""
    fields = stat.rpartition(")")[2].split()
    ticks = sum(int(fields[number - _FIRST]) for number in (14, 15, 16, 17))
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
    waits = not int(ignored, 16) >> (signal.SIGCHLD - 1) & 1
    return Process(int(fields[4 - _FIRST]), ticks / os.sysconf("SC_CLK_TCK"), waits)


def unwaited_seconds() -> float:
    """Of this process's descendants that live: the time that will not be told when they end."""
    everybody = dict(_everybody())
    return sum(_unwaited_below(os.getpid(), everybody, False))


def _unwaited_below(
    parent: int, everybody: Mapping[int, Process], is_unwaited: bool
) -> Iterator[float]:
    is_unwaited = is_unwaited or not everybody[parent].waits
    for pid, one in everybody.items():
        if one.parent == parent:
            if is_unwaited:
                yield one.seconds
            yield from _unwaited_below(pid, everybody, is_unwaited)


def _everybody() -> Iterator[tuple[int, Process]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            yield (
                int(folder.name),
                parse((folder / "stat").read_text(), (folder / "status").read_text()),
            )
        except (OSError, StopIteration):
            continue  # It has ended meanwhile.
