"""Trains CartPole without a learner: every rank plays, computes the gradient of what it
has seen, and takes the mean of all ranks' gradients. So all hold the same policy.

    python examples/cartpole_allreduce.py      # four ranks, a process each
"""

import os
import subprocess
import sys

import cartpole  # Before numpy.
import numpy as np
from cartpole import policy, ppo
from cartpole.cartpole import Floats
from cartpole.progress import TARGET, WINDOW

from muster import Communicator

NAME = os.environ.get("CARTPOLE_GROUP", f"cartpole-{os.getpid()}")
GOAL = float(os.environ.get("CARTPOLE_GOAL", TARGET))
RANKS = 4
POLES = 16  # Per rank, all stepped at once.
MOST_UPDATES = 400


def train(everyone: Communicator) -> tuple[float, Floats]:
    """The mean reward that was reached, and the policy."""
    random = np.random.default_rng()
    weights = policy.new_weights(random)
    everyone.broadcast(weights, root=0)  # All begin with the same.
    adam = ppo.Adam(len(weights))
    poles = cartpole.CartPoles(POLES, random)
    recent: list[int] = []
    reward = 0.0

    def mean_of_all(mine: Floats) -> Floats:
        return everyone.all_reduce(mine, reduction="mean")

    for update in range(1, MOST_UPDATES + 1):
        rollout = ppo.roll_out(weights, poles)
        ppo.improve(weights, adam, [rollout], random, mean_of_all, ppo.MINIBATCH // 2)
        recent = (recent + rollout["episodes"])[-WINDOW // RANKS :]
        mine = np.mean(recent) if len(recent) == WINDOW // RANKS else 0.0
        reward = float(mean_of_all(np.array([mine], np.float32))[0])
        if everyone.rank == 0 and (update % 10 == 0 or reward >= GOAL):
            print(f"update {update}: mean reward {reward:.1f}", flush=True)
        if reward >= GOAL:
            break
    return reward, weights


def main() -> int:
    rank = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    others = []
    if rank == 0:
        said = os.environ | {"CARTPOLE_GROUP": NAME}
        for other in range(1, RANKS):
            others.append(subprocess.Popen([sys.executable, __file__, str(other)], env=said))
    with Communicator(NAME, rank, RANKS, timeout=60) as everyone:
        reward, weights = train(everyone)
        apart = everyone.all_reduce(weights.copy(), reduction="max") - weights
    if rank == 0:
        same = "the same" if not apart.any() else "not the same"
        print(f"mean reward {reward:.1f}, and all {RANKS} ranks hold {same} policy")
    for process in others:
        process.wait()
    return 0 if reward >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
