"""Runs a benchmark program once and reads the line that it prints.

docs/contributing/benchmarks.md has the contract that all programs keep.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.harness.guard import Guard, wait_for_tick

NO_SUCH_CASE = 3
TIMEOUT_SECONDS = 60.0
UNWAITED = "unwaited_seconds"
"""An extra figure: processor time of processes that a library's daemon does not wait for."""


class ProgramError(Exception):
    """A benchmark program failed, or printed something else than it should."""


class NotMeasurableError(ProgramError):
    """There is no such program, or it has no such case."""


@dataclass(frozen=True)
class Sample:
    """What one run printed."""

    value: float
    unit: str
    lower_is_better: bool
    extra: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """A sample, and how much others used the machine while it was taken."""

    sample: Sample
    foreign: float


def parse_sample(text: str) -> Sample:
    lines = text.splitlines()
    if len(lines) != 1:
        raise ProgramError(f"expected one line, got {len(lines)}: {text[:200]!r}")
    try:
        found = json.loads(lines[0])
        sample = Sample(
            float(found["value"]),
            str(found["unit"]),
            bool(found["lower_is_better"]),
            {str(name): float(value) for name, value in found.get("extra", {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ProgramError(f"not a result: {lines[0][:200]!r} ({error})") from error
    if not sample.value > 0:
        raise ProgramError(f"not a positive figure: {lines[0][:200]!r}")
    return sample


def run(program: Path, case: str, seconds: float) -> Measured:
    if not program.exists():
        raise NotMeasurableError(f"{program.name} is not built")
    wait_for_tick()
    guard = Guard()
    try:
        done = subprocess.run(
            [program.resolve(), case, "--seconds", str(seconds)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"{program.name} {case}: no end after {TIMEOUT_SECONDS:g} s") from error
    guard.stop()
    if done.returncode == NO_SUCH_CASE:
        raise NotMeasurableError(f"{program.name} has no case {case}")
    if done.returncode != 0:
        why = done.stderr.strip() or "no message"
        raise ProgramError(f"{program.name} {case}: exit status {done.returncode}: {why}")
    sample = parse_sample(done.stdout)
    return Measured(sample, guard.foreign(sample.extra.get(UNWAITED, 0.0)))
