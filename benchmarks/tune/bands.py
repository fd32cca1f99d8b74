"""Where what was measured counts: from it, and from the rows before, the rows after. Pure.

Borders stay where the table has them, between bytes and between numbers of ranks. A band of
either in which nothing was measured stays as it is.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from benchmarks.tune.table import Method, Row, chosen, most

Best = Sequence[tuple[int, Method]]
"""The best method at each size, which go up."""
Steps = list[tuple[int | None, Method]]
"""Up to so many bytes (None: any number) this, then the next."""


def _joined(steps: Iterable[tuple[float, Method | None]]) -> Steps:
    found: Steps = []
    for end, method in steps:
        if method is None:
            continue
        if found and found[-1][1] == method:
            found.pop()
        found.append((None if end == math.inf else int(end), method))
    return found


def steps(rows: Sequence[Row], ranks: int) -> Steps:
    """What the rows of one ground and operation say for so many ranks."""
    ends = sorted({most(row.up_to) for row in rows if row.ranks <= ranks})
    return _joined((end, _said(rows, ranks, end)) for end in ends)


def _said(rows: Sequence[Row], ranks: int, size: float) -> Method | None:
    return chosen(rows, rows[0].ground, rows[0].operation, ranks, size)


def spread(before: Steps, best: Best) -> Steps:
    """`before`, with the best method at each size from the border below it to that above.
    Between two sizes that had no border, it is their geometric middle."""
    said = {most(end): method for end, method in before}
    ends = {*said, math.inf}
    for (low, _), (high, _) in pairwise(best):
        if not any(low <= end < high for end in said):
            ends.add(math.isqrt(low * high))
    found: list[tuple[float, Method | None]] = []
    start = 0.0
    for end in sorted(ends):
        kept = next((said[border] for border in sorted(said) if border >= end), None)
        found.append((end, next((m for size, m in best if start < size <= end), kept)))
        start = end
    return _joined(found)


def bands(firsts: Iterable[int], measured: Mapping[int, int]) -> list[tuple[int, int | None]]:
    """With how many ranks each band begins, and with how many it was measured, if it was.
    `measured`: with how many, and with how many its band begins if no border of `firsts` says."""
    begin = set(firsts)
    for before, ranks in pairwise([0, *measured]):
        if not any(before < first <= ranks for first in begin):
            begin.add(measured[ranks])
    ordered = sorted(begin)
    return [
        (first, next((ranks for ranks in measured if first <= ranks < end), None))
        for first, end in pairwise([*ordered, math.inf])
    ]


def retuned(
    rows: Sequence[Row],
    ground: str,
    operation: str,
    measured: Mapping[int, int],
    best: Mapping[int, Best],
) -> list[Row]:
    """The rows of this ground and operation, with what was best at so many ranks. Those of a
    band stay as they are if they say it, and are left out if those of fewer ranks do."""
    old = [row for row in rows if (row.ground, row.operation) == (ground, operation)]
    found: list[Row] = []
    for first, ranks in bands((row.ranks for row in old), measured):
        tier = [row for row in old if row.ranks == first]
        if ranks is not None:
            wanted = spread(steps(old, ranks), best[ranks])
            if steps(found, ranks) == wanted:
                continue
            if steps([*found, *tier], ranks) != wanted:
                tier = [Row(ground, operation, first, end, method) for end, method in wanted]
        found += tier
    return found
