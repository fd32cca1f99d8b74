"""What a training run shows: its counts, its lines and its picture."""

import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from cartpole.display import Display, block, line, sparkline
from cartpole.picture import draw, ticks
from cartpole.ppo import Rollout
from cartpole.progress import Progress, Rate

SVG = "{http://www.w3.org/2000/svg}"


class Clock:
    now = 10.0

    def __call__(self) -> float:
        return self.now


def rollout(episodes: list[int], steps: int = 32) -> Rollout:
    nothing = np.zeros(steps, np.float32)
    return Rollout(
        states=np.zeros((steps, 4), np.float32),
        actions=np.zeros(steps, np.int8),
        log_probabilities=nothing,
        advantages=nothing,
        returns=nothing,
        episodes=episodes,
    )


def a_run() -> Progress:
    clock = Clock()
    progress = Progress(clock)
    progress.workers = {"worker_1": True, "worker_2": False}
    for length in (20, 200, 500):
        clock.now += 1
        progress.learned([rollout([length] * 60), rollout([length] * 40)])
        progress.mark(f"worker_2 <was killed> {length}")
    return progress


def test_the_mean_is_of_the_last_hundred_episodes() -> None:
    progress = Progress()
    progress.learned([rollout([100] * 30)])
    assert progress.mean == 100
    progress.learned([rollout([500] * 99), rollout([400])])
    assert progress.mean == 499
    assert (progress.episodes, progress.steps, progress.updates) == (130, 96, 2)


def test_it_is_solved_by_a_hundred_good_episodes_and_not_by_fewer() -> None:
    progress = Progress()
    progress.learned([rollout([500] * 99)])
    assert not progress.is_solved
    progress.learned([rollout([500])])
    assert progress.is_solved


def test_a_rate_forgets_what_was_seconds_ago() -> None:
    rate = Rate()
    assert rate.see(0.0, 0) == 0
    assert rate.see(1.0, 100) == 100
    for second in range(2, 10):
        last = rate.see(float(second), 100)
    assert last == 0


def test_lines_tell_episodes_reward_steps_workers_and_messages() -> None:
    told = line(a_run(), 1234.4, 56.0)
    for part in ("episodes   300", "mean reward  500.0", "steps/s    1234", "workers 1 of 2"):
        assert part in told
    assert told.endswith("messages/s     56")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_drawn_over_and_a_file_gets_lines() -> None:
    screen, file = Terminal(), io.StringIO()
    for stream in (screen, file):
        display = Display(a_run(), stream)
        display.show()
        display.show()
    height = len(block(a_run(), 0, 0))
    assert screen.getvalue().count(f"\x1b[{height}F") == 1
    assert "\x1b" not in file.getvalue() and file.getvalue().count("\n") == 1


def test_a_narrow_terminal_is_drawn_over_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    screen = Terminal()
    Display(a_run(), screen).show()
    lines = screen.getvalue().replace("\x1b[K", "").splitlines()
    assert len(lines) == len(block(a_run(), 0, 0)) and max(map(len, lines)) < 40


def test_a_sparkline_has_at_most_sixty_columns_and_ends_high() -> None:
    drawn = sparkline([reward / 2 for reward in range(1000)])
    assert len(drawn) <= 60 and drawn[0] == "▁" and drawn[-1] == "█"


def test_the_picture_is_svg_with_the_curve_and_the_marks_where_they_were() -> None:
    picture = ElementTree.fromstring(draw(a_run()))
    curve = picture.find(f"{SVG}polyline")
    assert curve is not None
    points = [tuple(map(float, point.split(","))) for point in curve.attrib["points"].split()]
    assert len(points) == 3 and points[0][1] > points[1][1] > points[2][1]
    marks = [
        float(one.attrib["x1"]) for one in picture.iter(f"{SVG}line") if one.get("class") == "mark"
    ]
    assert marks == [point[0] for point in points]
    texts = [one.text for one in picture.iter(f"{SVG}text")]
    assert "worker_2 <was killed> 20" in texts


def test_a_picture_of_nothing_is_still_one() -> None:
    ElementTree.fromstring(draw(Progress()))
    assert ticks(7) == [0, 1, 2, 3, 4, 5, 6, 7]
