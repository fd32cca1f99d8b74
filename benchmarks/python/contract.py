"""What every Python benchmark program does alike: docs/contributing/benchmarks.md has the rules."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context

NO_SUCH_CASE = 3


class WrongBytesError(Exception):
    """What arrived is not what was sent."""


class Sample(dict):
    """The line that a program prints."""


def sample(value: float, unit: str, *, lower_is_better: bool = True, **extra: float) -> Sample:
    return Sample(value=value, unit=unit, lower_is_better=lower_is_better, extra=extra)


def p50(times: Sequence[float], unit: str) -> Sample:
    """The median of seconds, in "us" or "ms"."""
    scale = {"us": 1e6, "ms": 1e3}[unit]
    ordered = sorted(times)
    return sample(
        statistics.median(ordered) * scale, unit, p90=ordered[len(ordered) * 9 // 10] * scale
    )


def check(holds: bool, what: str) -> None:
    if not holds:
        raise WrongBytesError(what)


def clock() -> float:
    """One that all processes of this machine share."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Children:
    """The other processes of a case; all are waited for."""

    def __init__(self) -> None:
        self._processes = []

    def start(self, work: Callable, *args: object) -> None:
        process = get_context("fork").Process(target=work, args=args)
        process.start()
        self._processes.append(process)

    def __enter__(self) -> "Children":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for process in self._processes:
            if kind is not None:
                process.kill()
            process.join(30)
        if kind is None and any(process.exitcode != 0 for process in self._processes):
            raise WrongBytesError("the other process failed")


Case = Callable[[float], Sample]


def main(cases: Mapping[str, Case]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="?")
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(cases))
        return
    if options.case is None:
        parser.error("which case?")
    if options.case not in cases:
        sys.exit(NO_SUCH_CASE)
    try:
        found = cases[options.case](options.seconds)
        if found is not None:  # Of several ranks one has it.
            print(json.dumps(found))
    except WrongBytesError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
