"""Trains CartPole by a conditional event: the learner improves its policy as soon as
60% of the workers who live have sent a rollout. A slow or dead worker holds nobody up.

    python examples/cartpole_events.py             # a learner and five workers
    python examples/cartpole_events.py worker_6    # one more, while it runs
"""

import os
import subprocess
import sys

import cartpole  # Before numpy.
import numpy as np
from cartpole import policy, ppo
from cartpole.progress import Progress

import muster
from muster import Proxy, SessionType, Stop, dist

GROUP = os.environ.get("CARTPOLE_GROUP", "cartpole")
WORKERS = 5
POLES = 16  # Per worker, all stepped at once.


class Learner:
    """Owns the policy."""

    def __init__(self) -> None:
        self.random = np.random.default_rng()
        self.weights = policy.new_weights(self.random)
        self.adam = ppo.Adam(len(self.weights))
        self.progress = Progress()

    def improve(self, rollouts: list[ppo.Rollout]) -> None:
        ppo.improve(self.weights, self.adam, rollouts, self.random)
        self.progress.learned(rollouts)

    def is_done(self) -> bool:
        return self.progress.is_solved

    def hand_out(self, proxy: Proxy, names: list[str]) -> None:
        weights = muster.empty(self.weights.shape, np.float32)
        weights[:] = self.weights  # In shared memory: all read this one copy.
        for name in names:
            proxy.isend("policy", name, weights, session_type=SessionType.NOTIFICATION)
        self.progress.messages += len(names)


def on_ready(learner: Learner, proxy: Proxy, messages: list[muster.Message]) -> None:
    learner.progress.messages += 1
    learner.hand_out(proxy, [messages[0].source])


def on_rollouts(learner: Learner, proxy: Proxy, messages: list[muster.Message]) -> None:
    learner.progress.messages += len(messages)
    learner.improve([message.body for message in messages])
    if learner.is_done():
        raise Stop
    learner.hand_out(proxy, [message.source for message in messages])


LEARNS = {"worker:ready:1": on_ready, "worker:rollout:60%": on_rollouts}


class Worker:
    """Plays with the policy that it is given."""

    def __init__(self) -> None:
        self.poles = cartpole.CartPoles(POLES, np.random.default_rng())


def on_policy(worker: Worker, proxy: Proxy, messages: list[muster.Message]) -> None:
    rollout = ppo.roll_out(messages[-1].body, worker.poles)
    proxy.isend("rollout", "learner", rollout, session_type=SessionType.NOTIFICATION)


def on_stop(worker: Worker, proxy: Proxy, messages: list[muster.Message]) -> None:
    raise Stop


def work(name: str) -> None:
    def on_event(event: muster.ProxyEvent) -> None:
        if event.kind == "returned":  # The link broke: what was under way may be lost.
            proxy.isend("ready", event.peer, session_type=SessionType.NOTIFICATION)
        elif event.kind in ("left", "minimum_missed"):  # Nobody learns any more.
            worker.stop()

    proxy = Proxy(
        GROUP,
        "worker",
        name,
        expected=["learner"],
        minimum=["learner"],
        minimum_timeout=20,
        timeout=60,
        on_event=on_event,
    )
    worker = dist(proxy, {"learner:policy:1": on_policy, "learner:stop:1": on_stop})(Worker)()
    with proxy:
        proxy.isend("ready", "learner", session_type=SessionType.NOTIFICATION)
        worker.launch()


def start_worker(name: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"CARTPOLE_GROUP": GROUP}
    command = [sys.executable, __file__, name]
    return subprocess.Popen(command, env=environment, start_new_session=True)  # Ctrl-C is ours.


def main() -> None:
    if len(sys.argv) > 1:
        return work(sys.argv[1])
    workers = [start_worker(f"worker_{number}") for number in range(1, WORKERS + 1)]
    with Proxy(GROUP, "learner", name="learner", expected={"worker": WORKERS}) as proxy:
        learner = dist(proxy, LEARNS)(Learner)()
        learner.launch(timeout=120)
        proxy.ibroadcast("stop", "worker", session_type=SessionType.NOTIFICATION)
    print(f"mean reward {learner.progress.mean:.1f} after {learner.progress.episodes} episodes")
    for worker in workers:
        worker.wait()


if __name__ == "__main__":
    main()
