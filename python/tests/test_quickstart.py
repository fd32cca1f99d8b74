"""The main job: what it learns from, and what it does without."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import cartpole
import numpy as np
import pytest
from cartpole import ppo
from cartpole_events import LEARNS, Learner

import muster
from muster import Proxy, SessionType, dist

ROOT = Path(__file__).resolve().parents[2]
NEWS = SessionType.NOTIFICATION


def test_the_learner_learns_when_60_percent_have_sent_and_not_before() -> None:
    group = f"cartpole-{uuid.uuid4().hex}"
    names = [f"worker_{number}" for number in range(1, 6)]
    with Proxy(group, "learner", name="learner") as proxy:
        learner = dist(proxy, LEARNS)(Learner)()
        workers = {name: Proxy(group, "worker", name=name, expected=["learner"]) for name in names}
        proxy.wait_for_peers({"worker": 5}, timeout=20)

        running = threading.Thread(target=learner.launch)
        running.start()

        def take_in() -> None:
            """Returns when the learner has looked at all that was sent: order is kept."""
            for worker in workers.values():
                with pytest.raises(muster.UnsupportedError):
                    worker.send("unknown", "learner", timeout=20)

        poles = cartpole.CartPoles(2, np.random.default_rng())
        rollout = ppo.roll_out(learner.weights, poles)
        before = learner.weights.copy()
        for name in names[:2]:
            workers[name].isend("rollout", "learner", rollout, session_type=NEWS)
        take_in()
        assert learner.progress.updates == 0 and (learner.weights == before).all()
        workers[names[2]].isend("rollout", "learner", rollout, session_type=NEWS)
        take_in()
        assert learner.progress.updates == 1 and (learner.weights != before).any()
        assert learner.progress.steps == 3 * len(rollout["actions"])
        for name in names[:3]:
            policy = workers[name].receive_once(timeout=20)
            assert policy is not None and policy.tag == "policy"
            assert (policy.body == learner.weights).all()
        assert workers[names[3]].receive_once(timeout=0) is None
        learner.stop()
        running.join()
        for worker in workers.values():
            worker.leave()


def figures(lines: Iterator[str]) -> Iterator[tuple[int, int]]:
    """Episodes and workers alive, line by line."""
    for line in lines:
        found = re.search(r"episodes +(\d+) .* workers (\d) of", line)
        if found:
            yield int(found[1]), int(found[2])


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in listed.split()]


def test_training_ends_when_nobody_reads_how_far_it_is(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "examples" / "quickstart.py"), "--interval", "0.2"]
    run = subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert run.stdout is not None
    try:
        assert run.stdout.readline()
        workers = children(run.pid)
        run.stdout.close()
        assert run.wait(timeout=60) != 0
        assert len(workers) == 5 and not any(Path(f"/proc/{pid}").exists() for pid in workers)
    finally:
        run.kill()
        run.wait()


def test_with_the_workers_held_back_training_does_not_advance(tmp_path: Path) -> None:
    program = [sys.executable, str(ROOT / "examples" / "quickstart.py"), "--interval", "0.2"]
    run = subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    workers: list[int] = []
    try:
        told = figures(iter(run.stdout))
        assert next(count for count, _ in told if count > 0)
        workers = children(run.pid)
        assert len(workers) == 5
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        # What has arrived is learned from, also when its senders count as lost.
        assert next(count for count, alive in told if alive == 0)
        next(told)
        held = next(told)[0]
        assert [next(told)[0] for _ in range(8)] == [held] * 8
        for worker in workers:
            os.kill(worker, signal.SIGCONT)
        assert next(count for count, _ in told if count > held)
    finally:
        run.kill()
        run.wait()
        for worker in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
