"""Shows a training run while it goes on: a block that is drawn over and over on a
terminal, plain lines anywhere else."""

import shutil
import time
from typing import TextIO

from .progress import TARGET, Progress, Rate

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 60


class Display:
    def __init__(self, progress: Progress, stream: TextIO, interval: float = 1.0) -> None:
        self.progress = progress
        self.interval = interval  # Seconds between lines.
        self.stream = stream
        self.is_live = stream.isatty()
        self.steps, self.messages = Rate(), Rate()
        self.drawn = 0  # Lines to go back over.
        self.next_line = 0.0

    def show(self) -> None:
        """Call it a few times per second."""
        now = time.monotonic()
        steps = self.steps.see(now, self.progress.steps)
        messages = self.messages.see(now, self.progress.messages)
        if self.is_live:
            self._draw(block(self.progress, steps, messages))
        elif now >= self.next_line:
            self.next_line = now + self.interval
            self._print(line(self.progress, steps, messages))

    def say(self, text: str) -> None:
        """A line that stays."""
        if self.is_live and self.drawn:
            self.stream.write(f"\x1b[{self.drawn}F\x1b[J")
            self.drawn = 0
        self._print(text)

    def _draw(self, lines: list[str]) -> None:
        up = f"\x1b[{self.drawn}F" if self.drawn else ""
        room = shutil.get_terminal_size().columns - 1  # What wraps would be more lines.
        self.stream.write(up + "".join(f"{text[:room]}\x1b[K\n" for text in lines))
        self.stream.flush()
        self.drawn = len(lines)

    def _print(self, text: str) -> None:
        self.stream.write(text + "\n")
        self.stream.flush()


def alive(progress: Progress) -> str:
    return f"{sum(progress.workers.values())} of {len(progress.workers)}"


def line(progress: Progress, steps: float, messages: float) -> str:
    return (
        f"{progress.seconds:6.1f} s  episodes {progress.episodes:5d}  "
        f"mean reward {progress.mean:6.1f}  steps/s {steps:7.0f}  "
        f"workers {alive(progress)}  messages/s {messages:6.0f}"
    )


def block(progress: Progress, steps: float, messages: float) -> list[str]:
    done = min(1.0, progress.mean / TARGET)
    bar = "█" * round(done * 30) + "░" * (30 - round(done * 30))
    dots = " ".join("●" if is_alive else "○" for is_alive in progress.workers.values())
    last = progress.marks[-1] if progress.marks else None
    return [
        "",
        f"  CartPole, learned from scratch {progress.seconds:25.1f} s",
        "",
        f"  {sparkline([mean for _, mean in progress.curve])}",
        f"  mean reward  {progress.mean:9.1f}   {bar} {TARGET:.0f}",
        f"  episodes     {progress.episodes:9,d}   updates {progress.updates:,d}",
        f"  steps/s      {steps:9,.0f}   messages/s {messages:,.0f}",
        f"  workers      {alive(progress):>9}   {dots}"
        + (f"   {last[1]} at {last[0]:.1f} s" if last else ""),
        "",
    ]


def sparkline(values: list[float], top: float = 500) -> str:
    """The last values, each the mean of as many as fit into a column."""
    if not values:
        return ""
    per_column = -(-len(values) // WIDTH)
    columns = [values[at : at + per_column] for at in range(0, len(values), per_column)]
    means = [sum(column) / len(column) for column in columns]
    return "".join(BARS[min(8, int(1 + 7.99 * mean / top))] for mean in means)
