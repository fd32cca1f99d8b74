"""Many cart poles at once: a cart on a rail that must keep its pole upright.

The equations are those of Barto, Sutton and Anderson (1983), with the constants
and limits that the literature calls CartPole-v1: a reward of 1 per step, at most
500 steps.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

GRAVITY = 9.8
POLE_MASS = 0.1
TOTAL_MASS = 1.0 + POLE_MASS
HALF_LENGTH = 0.5
FORCE = 10.0
SECONDS = 0.02
ANGLE_LIMIT = 12 * 2 * np.pi / 360
RAIL_LIMIT = 2.4
LONGEST = 500


def after_a_step(state: Floats, push_right: NDArray[np.bool_]) -> Floats:
    """Where carts and poles are one step later.

    A row is the cart's place and speed, and the pole's angle and how fast it turns.
    """
    _, speed, angle, turn = state.T
    force = np.where(push_right, np.float32(FORCE), np.float32(-FORCE))
    sine, cosine = np.sin(angle), np.cos(angle)
    common = (force + POLE_MASS * HALF_LENGTH * turn * turn * sine) / TOTAL_MASS
    turning = (GRAVITY * sine - cosine * common) / (
        HALF_LENGTH * (4 / 3 - POLE_MASS * cosine * cosine / TOTAL_MASS)
    )
    pushing = common - POLE_MASS * HALF_LENGTH * turning * cosine / TOTAL_MASS
    change = np.stack([speed, pushing, turn, turning], axis=1)
    return (state + SECONDS * change).astype(np.float32)


class CartPoles:
    """A batch of environments, each started anew as soon as its episode is over."""

    def __init__(self, count: int, random: np.random.Generator) -> None:
        self.random = random
        self.state = self._starts(count)
        self.steps = np.zeros(count, np.int32)

    def _starts(self, count: int) -> Floats:
        return self.random.uniform(-0.05, 0.05, (count, 4)).astype(np.float32)

    def step(
        self, push_right: NDArray[np.bool_]
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_], list[int]]:
        """The states just reached, which poles fell, which ran out of time, and the
        lengths of the episodes that ended. `self.state` has those ones' new starts."""
        reached = after_a_step(self.state, push_right)
        self.steps += 1
        fell = (np.abs(reached[:, 0]) > RAIL_LIMIT) | (np.abs(reached[:, 2]) > ANGLE_LIMIT)
        timed_out = (self.steps >= LONGEST) & ~fell
        over = fell | timed_out
        lengths: list[int] = self.steps[over].tolist()
        self.state = reached
        if lengths:
            self.state = reached.copy()
            self.state[over] = self._starts(len(lengths))
            self.steps[over] = 0
        return reached, fell, timed_out, lengths
