"""Measures every method at every size, and keeps the best of each."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import program
from benchmarks.harness.build import BuildError, build
from benchmarks.tune import methods
from benchmarks.tune.table import Method, Row, merged, parse, replaced, to_text

TABLE = Path(__file__).resolve().parents[2] / "muster" / "collectives" / "choices.inc"
ROUNDS = 3
# What is slower than that at one size is not tried at larger ones.
HOPELESS = 3.0


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/tune", description="Writes the table of choices.")
    parser.add_argument("what", choices=["collectives"])
    parser.add_argument("--operation", choices=sorted(methods.OPERATIONS), action="append")
    parser.add_argument("--ground", choices=methods.GROUNDS, action="append")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each measurement (0.1)")
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
    """Microseconds: the best of some rounds, since others can only disturb."""
    return min(
        program.run(programs / "bench_muster", case, seconds).sample.value for _ in range(ROUNDS)
    )


def tune(programs: Path, ground: str, operation: str, ranks: int, seconds: float) -> list[Row]:
    name = methods.OPERATIONS[operation]
    left = list(methods.candidates(ground, name))
    best: list[tuple[int, Method]] = []
    for size, count in {**methods.SIZES, **methods.LARGE}.items():
        took = {
            method: measure(programs, case_name(ground, operation, size, ranks, method), seconds)
            for method in left
        }
        winner = min(took, key=lambda method: took[method])
        best.append((count, winner))
        left = [method for method in left if took[method] < HOPELESS * took[winner]]
        figures = ", ".join(
            f"{method.algorithm}:{method.segment >> 10}K {value:.4g}"
            for method, value in sorted(took.items(), key=lambda item: item[1])
        )
        print(f"{ground} {name} {size} x {ranks}: {figures} us", file=sys.stderr, flush=True)
    return merged(ground, name, ranks, best)


def main(arguments: Sequence[str]) -> int:
    options = arguments_of(arguments)
    try:
        programs = options.bin or build()
        new = [
            row
            for ground in options.ground or methods.GROUNDS
            for operation in options.operation or methods.OPERATIONS
            for ranks in methods.RANKS
            for row in tune(programs, ground, operation, ranks, options.seconds)
        ]
    except (BuildError, program.ProgramError) as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    text = to_text(replaced(parse(TABLE.read_text(encoding="utf-8")), new))
    if options.print:
        print(text, end="")
    else:
        TABLE.write_text(text, encoding="utf-8")
    return 0
