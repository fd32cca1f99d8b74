"""The training of cartpole_events.py, worth watching: shows how far it is, kills a
worker on the way, brings it back, and draws reward.svg. scripts/quickstart runs it.
"""

import argparse
import os
import subprocess
import sys
import threading
from pathlib import Path

os.environ.setdefault("CARTPOLE_GROUP", f"cartpole-{os.getpid()}")

import cartpole_events
from cartpole.display import Display
from cartpole.picture import draw
from cartpole.progress import TARGET, Progress
from cartpole_events import GROUP, LEARNS, Learner, start_worker

import muster
from muster import Proxy, SessionType, dist

VICTIM = "worker_2"
KILLED_AT = 150.0  # The mean reward when it is killed.
SECONDS_AWAY = 1.5


class Crew:
    """The workers' processes."""

    def __init__(self, count: int) -> None:
        names = [f"worker_{number}" for number in range(1, count + 1)]
        self.processes = {name: start_worker(name) for name in names}
        self.killed_at: float | None = None
        self.is_lost = self.is_restarted = self.has_returned = False

    def look(self, alive: list[str], progress: Progress) -> None:
        """Called a few times per second: kills the victim, and starts it again."""
        progress.workers = {name: name in alive for name in self.processes}
        if self.killed_at is None:
            if progress.mean >= KILLED_AT:
                self.processes[VICTIM].kill()
                self.killed_at = progress.seconds
                progress.mark(f"{VICTIM} was killed")
        elif not self.is_lost:
            self.is_lost = VICTIM not in alive
        elif not self.is_restarted:
            if progress.seconds >= self.killed_at + SECONDS_AWAY:
                self.processes[VICTIM].wait()
                self.processes[VICTIM] = start_worker(VICTIM)
                self.is_restarted = True
        elif not self.has_returned and VICTIM in alive:
            self.has_returned = True
            progress.mark(f"{VICTIM} returned")

    def end(self) -> None:
        for process in self.processes.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


class WatchedLearner(Learner):
    crew: Crew

    def is_done(self) -> bool:
        return super().is_done() and self.crew.has_returned


def watch(
    learner: muster.Distributed[WatchedLearner],
    proxy: Proxy,
    display: Display,
    done: threading.Event,
) -> None:
    try:
        while not done.wait(0.2):
            learner.crew.look(proxy.peer_names("worker"), learner.progress)
            display.show()
    finally:
        learner.stop()  # If nobody reads any more, nobody brings the worker back either.


def train(workers: int, seconds: float, interval: float) -> Progress:
    crew = Crew(workers)
    try:
        with Proxy(
            GROUP, "learner", name="learner", expected={"worker": workers}, timeout=60
        ) as proxy:
            learner = dist(proxy, LEARNS)(WatchedLearner)()
            learner.crew = crew
            progress: Progress = learner.progress
            display, done = Display(progress, sys.stdout, interval), threading.Event()
            watcher = threading.Thread(target=watch, args=(learner, proxy, display, done))
            watcher.start()
            try:
                learner.launch(timeout=seconds)
            except muster.TimedOutError:
                display.say(f"the time of {seconds:.0f} s is over")
            finally:
                done.set()
                watcher.join()
            proxy.ibroadcast("stop", "worker", session_type=SessionType.NOTIFICATION)
    except BaseException:
        for process in crew.processes.values():
            process.kill()
        raise
    finally:
        crew.end()
    display.show()
    return progress


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=cartpole_events.WORKERS)
    parser.add_argument("--seconds", type=float, default=120, help="when to give up")
    parser.add_argument("--interval", type=float, default=1, help="seconds between lines")
    parser.add_argument("--picture", type=Path, default=Path("reward.svg"))
    said = parser.parse_args()
    try:
        progress = train(max(2, said.workers), said.seconds, said.interval)
    except KeyboardInterrupt:
        print("stopped")
        return 130
    said.picture.write_text(draw(progress))
    verb = "reached" if progress.is_solved else f"has not reached {TARGET:.0f}, but"
    print(
        f"mean reward {progress.mean:.1f} {verb} after {progress.episodes} episodes, "
        f"{progress.steps} steps and {progress.seconds:.1f} s"
    )
    for when, what in progress.marks:
        print(f"{what} at {when:.1f} s")
    print(f"the curve is in {said.picture}")
    return 0 if progress.is_solved else 1


if __name__ == "__main__":
    sys.exit(main())
