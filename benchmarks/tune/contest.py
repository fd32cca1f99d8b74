"""A contest between methods: who is clearly behind is not measured again. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.tune.table import Method

ROUNDS = 4
# Who is behind the best by more than that, after a round, is out.
CLOSE = 1.25
# Who was chosen until now stays unless another is faster by that.
CLEARLY = 1.07


@dataclass(frozen=True)
class Found:
    winner: Method
    took: dict[Method, float]


def hold(
    methods: Sequence[Method], holder: Method | None, measure: Callable[[Method], float]
) -> Found:
    """The best of `methods`, each by its least time, since others can only disturb."""
    took = {method: float("inf") for method in methods}
    left = list(methods)
    for _ in range(ROUNDS):
        for method in left:
            took[method] = min(took[method], measure(method))
        limit = CLOSE * min(took.values())
        left = [method for method in left if took[method] <= limit]
        if len(left) == 1:
            break
    winner = min(took, key=lambda method: took[method])
    if holder in took and took[holder] <= CLEARLY * took[winner]:
        winner = holder
    return Found(winner, took)
