"""How far a training run is: what its display and its picture show."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from .ppo import Rollout

TARGET = 475.0
WINDOW = 100  # Episodes.


class Rate:
    """How often something happens per second, over the last two seconds or so."""

    def __init__(self) -> None:
        self.samples: deque[tuple[float, int]] = deque()

    def see(self, now: float, total: int) -> float:
        self.samples.append((now, total))
        while len(self.samples) > 2 and self.samples[0][0] < now - 2:
            self.samples.popleft()
        (then, before), seconds = self.samples[0], now - self.samples[0][0]
        return (total - before) / seconds if seconds > 0 and then < now else 0.0


@dataclass
class Progress:
    """Counts what a learner is told. Times are seconds since the start.

    One thread writes it; others may look at it meanwhile.
    """

    clock: Callable[[], float] = time.monotonic
    episodes: int = 0
    steps: int = 0
    updates: int = 0
    messages: int = 0
    mean: float = 0.0  # The reward of the last hundred episodes.
    workers: dict[str, bool] = field(default_factory=dict)  # Which of them are alive.
    curve: list[tuple[float, float]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self.recent: deque[int] = deque(maxlen=WINDOW)

    @property
    def seconds(self) -> float:
        return self.clock() - self.started

    @property
    def is_solved(self) -> bool:
        return len(self.recent) == WINDOW and self.mean >= TARGET

    def learned(self, rollouts: Iterable[Rollout]) -> None:
        """An update was made of these."""
        for rollout in rollouts:
            self.episodes += len(rollout["episodes"])
            self.steps += len(rollout["actions"])
            self.recent.extend(rollout["episodes"])
        if self.recent:
            self.mean = sum(self.recent) / len(self.recent)
        self.updates += 1
        self.curve.append((self.seconds, self.mean))

    def mark(self, text: str) -> None:
        """Something to show in the picture."""
        self.marks.append((self.seconds, text))
