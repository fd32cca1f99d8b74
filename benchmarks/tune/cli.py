"""Measures every method at every size, and keeps the best of each."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import program
from benchmarks.harness.build import BuildError, build
from benchmarks.harness.guard import FOREIGN_LIMIT
from benchmarks.harness.reference import this_cpu
from benchmarks.tune import methods
from benchmarks.tune.table import to_text
from benchmarks.tune.tables import Tables
from benchmarks.tune.tuning import tune

# So often a measurement is taken again because others were busy.
RETAKES = 2

BY_HAND = """\
Rows that it does not measure stay as they are. They are written by hand: those of barriers, of
which the benchmark has no case; those of the ground hosts, since all ranks of the benchmark are
on one host; and those of a band of ranks in which none of {ranks} lies, as from 9 ranks on.
"""


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "scripts/tune",
        description="Writes the table of choices.",
        epilog=BY_HAND.format(ranks=", ".join(str(ranks) for ranks in methods.RANKS)),
    )
    parser.add_argument("what", choices=["collectives"])
    parser.add_argument("--operation", choices=sorted(methods.OPERATIONS), action="append")
    parser.add_argument("--ground", choices=methods.GROUNDS, action="append")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each measurement (0.1)")
    parser.add_argument("--minutes", type=float, default=45.0, help="begin nothing after that (45)")
    parser.add_argument("--bin", metavar="DIR", type=Path, help="use these programs, build nothing")
    parser.add_argument("--print", action="store_true", help="print the table, do not write it")
    return parser.parse_args(arguments)


def measure(programs: Path, case: str, seconds: float) -> float:
    """Microseconds; the least of some tries where others were busy."""
    least = float("inf")
    for _ in range(1 + RETAKES):
        measured = program.run(programs / "bench_muster", case, seconds)
        least = min(least, measured.sample.value)
        if measured.foreign < FOREIGN_LIMIT:
            break
    return least


def main(arguments: Sequence[str]) -> int:
    options = arguments_of(arguments)
    tables = Tables(this_cpu())
    end = time.monotonic() + 60 * options.minutes
    left_out = []
    try:
        programs = options.bin or build()
        for ground in options.ground or methods.GROUNDS:
            for operation in options.operation or methods.OPERATIONS:
                if time.monotonic() > end:
                    left_out.append(f"{ground} {operation}")
                    continue
                new = tune(
                    tables.rows(),
                    ground,
                    operation,
                    lambda case: measure(programs, case, options.seconds),
                )
                path = tables.put(ground, new)
                # What is measured is kept, whatever comes of the rest.
                if not options.print:
                    path.write_text(tables.text(path), encoding="utf-8")
    except (BuildError, program.ProgramError) as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    if options.print:
        print(to_text(tables.rows()), end="")
    for one in left_out:
        print(f"left as it was, the time was over: {one}", file=sys.stderr)
    return 0
