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
from benchmarks.tune.contest import hold
from benchmarks.tune.table import Method, Row, chosen, compact, merged, to_text
from benchmarks.tune.tables import Tables

# What is slower than that at one size is not tried at larger ones.
HOPELESS = 3.0
# So often a measurement is taken again because others were busy.
RETAKES = 2


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/tune", description="Writes the table of choices.")
    parser.add_argument("what", choices=["collectives"])
    parser.add_argument("--operation", choices=sorted(methods.OPERATIONS), action="append")
    parser.add_argument("--ground", choices=methods.GROUNDS, action="append")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each measurement (0.1)")
    parser.add_argument("--minutes", type=float, default=45.0, help="begin nothing after that (45)")
    parser.add_argument("--bin", metavar="DIR", type=Path, help="use these programs, build nothing")
    parser.add_argument("--print", action="store_true", help="print the table, do not write it")
    return parser.parse_args(arguments)


def case_name(ground: str, operation: str, size: str, ranks: int, method: Method) -> str:
    name = f"{operation}.{size}.{ranks}"
    if ground == "links":
        name = f"tcp.{name}"
    if ground == "arena":
        name += ".arena"
    return f"{name}@{ground}:{method.algorithm}:{method.segment}"


def measure(programs: Path, case: str, seconds: float) -> float:
    """Microseconds; the least of some tries where others were busy."""
    least = float("inf")
    for _ in range(1 + RETAKES):
        measured = program.run(programs / "bench_muster", case, seconds)
        least = min(least, measured.sample.value)
        if measured.foreign < FOREIGN_LIMIT:
            break
    return least


def tune(
    programs: Path, table: Sequence[Row], ground: str, operation: str, ranks: int, seconds: float
) -> list[Row]:
    name = methods.OPERATIONS[operation]
    left = list(methods.candidates(ground, name))
    best: list[tuple[int, Method]] = []
    for size, count in methods.SIZES.items():
        # What was chosen until now stays unless it is clearly beaten.
        holder = chosen(table, ground, name, ranks, count)
        found = hold(
            [*left, holder] if holder is not None and holder not in left else left,
            holder,
            lambda method, at=size: measure(
                programs, case_name(ground, operation, at, ranks, method), seconds
            ),
        )
        best.append((count, found.winner))
        limit = HOPELESS * found.took[found.winner]
        left = [method for method in left if found.took[method] < limit]
        figures = ", ".join(
            f"{method.algorithm}:{method.segment >> 10}K {value:.4g}"
            for method, value in sorted(found.took.items(), key=lambda item: item[1])
        )
        print(f"{ground} {name} {size} x {ranks}: {figures} us", file=sys.stderr, flush=True)
    return merged(ground, name, ranks, best)


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
                new = [
                    tune(programs, tables.rows(), ground, operation, ranks, options.seconds)
                    for ranks in methods.RANKS
                ]
                path = tables.put(ground, compact(new))
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
