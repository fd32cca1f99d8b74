"""Takes samples of several contenders in turn, again where the machine was not quiet."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchmarks.harness.guard import FOREIGN_LIMIT
from benchmarks.harness.program import Measured, Sample

Run = Callable[[str], Measured]
Sleep = Callable[[float], None]

TRIES_PER_SAMPLE = 8
RETAKES_PER_ROUND = 4
"""On average over a case: a machine that is never quiet must not hold us for ever."""


@dataclass
class Rounds:
    """What came out: per round, the clean sample of each contender that has one."""

    samples: list[dict[str, Sample]] = field(default_factory=list)
    retakes: int = 0
    given_up: int = 0

    def of(self, contender: str) -> list[Sample]:
        return [one[contender] for one in self.samples if contender in one]

    def pairs(self, ours: str, theirs: str) -> list[tuple[Sample, Sample]]:
        return [(one[ours], one[theirs]) for one in self.samples if ours in one and theirs in one]


def take_rounds(
    contenders: Sequence[str], rounds: int, run: Run, sleep: Sleep = time.sleep
) -> Rounds:
    """Runs every contender once per round.

    The order turns from round to round, so that nobody always follows the same
    neighbour and finds the machine as that one left it.
    """
    result = Rounds()
    budget = rounds * RETAKES_PER_ROUND
    for number in range(rounds):
        first = number % len(contenders)
        clean: dict[str, Sample] = {}
        for contender in [*contenders[first:], *contenders[:first]]:
            sample, retakes = _take(contender, run, sleep, budget)
            budget -= retakes
            result.retakes += retakes
            if sample is None:
                result.given_up += 1
            else:
                clean[contender] = sample
        result.samples.append(clean)
    return result


def _take(contender: str, run: Run, sleep: Sleep, budget: int) -> tuple[Sample | None, int]:
    """The first clean sample, if any, and how many were dropped and taken again."""
    tries = 1 + min(TRIES_PER_SAMPLE - 1, budget)
    for retakes in range(tries):
        if retakes > 0:
            # Whoever is busy may be done soon; waiting longer each time finds out.
            sleep(0.25 * retakes)
        measured = run(contender)
        if measured.foreign < FOREIGN_LIMIT:
            return measured.sample, retakes
    return None, tries - 1
