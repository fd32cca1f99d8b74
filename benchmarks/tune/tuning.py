"""Tunes an operation on a ground: a contest at each size, with some numbers of ranks."""

import sys
from collections.abc import Callable, Sequence

from benchmarks.tune.bands import Best, retuned
from benchmarks.tune.contest import Found, hold
from benchmarks.tune.methods import OPERATIONS, RANKS, SIZES, candidates
from benchmarks.tune.table import Method, Row, chosen

# What is slower than that at one size is not tried at larger ones.
HOPELESS = 3.0

Measure = Callable[[str], float]
"""Microseconds of a case."""


def case_name(ground: str, operation: str, size: str, ranks: int, method: Method) -> str:
    name = f"{operation}.{size}.{ranks}"
    if ground == "links":
        name = f"tcp.{name}"
    if ground == "arena":
        name += ".arena"
    return f"{name}@{ground}:{method.algorithm}:{method.segment}"


def tell(ground: str, operation: str, size: str, ranks: int, found: Found) -> None:
    figures = ", ".join(
        f"{method.algorithm}:{method.segment >> 10}K {value:.4g}"
        for method, value in sorted(found.took.items(), key=lambda item: item[1])
    )
    print(f"{ground} {operation} {size} x {ranks}: {figures} us", file=sys.stderr, flush=True)


def best_of(
    table: Sequence[Row], ground: str, operation: str, ranks: int, measure: Measure
) -> Best:
    name = OPERATIONS[operation]
    left = list(candidates(ground, name))
    best: list[tuple[int, Method]] = []
    for size, count in SIZES.items():
        # What was chosen until now stays unless it is clearly beaten.
        holder = chosen(table, ground, name, ranks, count)
        found = hold(
            left if holder is None or holder in left else [*left, holder],
            holder,
            lambda method, at=size: measure(case_name(ground, operation, at, ranks, method)),
        )
        best.append((count, found.winner))
        limit = HOPELESS * found.took[found.winner]
        left = [method for method in left if found.took[method] < limit]
        tell(ground, name, size, ranks, found)
    return best


def tune(table: Sequence[Row], ground: str, operation: str, measure: Measure) -> list[Row]:
    """All rows that are then there of this ground and operation."""
    best = {ranks: best_of(table, ground, operation, ranks, measure) for ranks in RANKS}
    return retuned(table, ground, OPERATIONS[operation], RANKS, best)
