"""The arithmetic of comparing: pure, and the part that must not be wrong."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


def speed(ours: float, theirs: float, *, lower_is_better: bool) -> float:
    """How many times faster ours is: above 1 means ours is better.

    Raises ValueError for figures that are not positive: no program of ours
    prints one, so such a figure is a broken measurement, not a slow one.
    """
    if not (ours > 0 and theirs > 0):
        raise ValueError(f"figures must be positive: ours {ours}, theirs {theirs}")
    return theirs / ours if lower_is_better else ours / theirs


@dataclass(frozen=True)
class Spread:
    """The median, and the middle half that says how much it is worth."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Raises ValueError when there is nothing to take the median of."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return Spread(statistics.median(ordered), ordered[quarter], ordered[-1 - quarter])
