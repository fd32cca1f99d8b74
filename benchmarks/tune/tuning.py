"""Tunes an operation on a ground: a contest at each size, with some numbers of ranks."""

import sys
from collections.abc import Callable, Sequence

from benchmarks.tune.bands import Best, retuned
from benchmarks.tune.contest import Found, hold
from benchmarks.tune.methods import OPERATIONS, RANKS, SIZES, candidates, different
from benchmarks.tune.table import Method, Row, chosen

# What is slower than that at one size is not tried at larger ones. With few bytes that says
# nothing: who cuts them has more messages, and gains by it only with many.
HOPELESS = 3.0
HOPELESS_FROM = 1 << 20

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
    used = {row.method for row in table if (row.ground, row.operation) == (ground, name)}
    # Of those that come to the same, one that the table has.
    left = sorted(candidates(ground, name), key=lambda method: method not in used)
    best: list[tuple[int, Method]] = []
    for size, count in SIZES.items():
        # What was chosen until now stays unless it is clearly beaten.
        holder = chosen(table, ground, name, ranks, count)
        found = hold(
            different(left if holder is None else [holder, *left], ranks, count),
            holder,
            lambda method, at=size: measure(case_name(ground, operation, at, ranks, method)),
        )
        best.append((count, found.winner))
        if count >= HOPELESS_FROM:
            limit = HOPELESS * found.took[found.winner]
            left = [method for method in left if found.took.get(method, 0.0) < limit]
        tell(ground, name, size, ranks, found)
    return best


def tune(table: Sequence[Row], ground: str, operation: str, measure: Measure) -> list[Row]:
    """All rows that are then there of this ground and operation."""
    best = {ranks: best_of(table, ground, operation, ranks, measure) for ranks in RANKS}
    return retuned(table, ground, OPERATIONS[operation], RANKS, best)
