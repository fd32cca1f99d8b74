"""Draws what a training run has learned, as an SVG picture written by hand."""

from html import escape

from .progress import TARGET, Progress

WIDTH, HEIGHT = 860, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 64, 52
HIGHEST = 500

STYLE = """
  svg { background: #ffffff; font: 13px system-ui, sans-serif; fill: #1f2933; }
  .grid { stroke: #d9e2ec; } .target { stroke: #2f9e44; stroke-dasharray: 6 4; }
  .curve { fill: none; stroke: #1c6dd0; stroke-width: 2.5; stroke-linejoin: round; }
  .mark { stroke: #c92a2a; stroke-dasharray: 3 3; } .told { fill: #c92a2a; }
  .title { font-size: 17px; font-weight: 600; } .quiet { fill: #627d98; }
  @media (prefers-color-scheme: dark) {
    svg { background: #0f1720; fill: #d9e2ec; } .grid { stroke: #243b53; }
    .curve { stroke: #63a4ff; } .mark { stroke: #ff8787; } .told { fill: #ff8787; }
  }
"""


def draw(progress: Progress) -> str:
    """The mean reward over time, and what happened to workers meanwhile."""
    curve = progress.curve or [(0.0, 0.0)]
    end = max(curve[-1][0], max((when for when, _ in progress.marks), default=0.0), 1.0)
    across = (WIDTH - LEFT - RIGHT) / end
    down = (HEIGHT - TOP - BOTTOM) / HIGHEST

    def x(seconds: float) -> float:
        return round(LEFT + seconds * across, 1)

    def y(reward: float) -> float:
        return round(HEIGHT - BOTTOM - reward * down, 1)

    parts = [f"<style>{STYLE}</style>"]
    parts.append(text(LEFT, 26, "CartPole: mean reward of the last 100 episodes", "title"))
    summary = (
        f"{progress.episodes:,} episodes, {progress.steps:,} steps, {progress.updates} updates "
        f"with {len(progress.workers)} workers in {curve[-1][0]:.1f} s"
    )
    parts.append(text(LEFT, 46, summary, "quiet"))
    for reward in range(0, HIGHEST + 1, 100):
        parts.append(line(LEFT, y(reward), WIDTH - RIGHT, y(reward), "grid"))
        parts.append(text(LEFT - 10, y(reward) + 4, str(reward), "quiet", "end"))
    for second in ticks(end):
        parts.append(text(x(second), HEIGHT - BOTTOM + 20, f"{second:g} s", "quiet", "middle"))
    parts.append(line(LEFT, y(TARGET), WIDTH - RIGHT, y(TARGET), "target"))
    parts.append(text(WIDTH - RIGHT, y(TARGET) - 6, f"{TARGET:.0f}", "quiet", "end"))
    for index, (when, what) in enumerate(progress.marks):
        parts.append(line(x(when), TOP, x(when), HEIGHT - BOTTOM, "mark"))
        # Those that come in turn stand on either side, so that none crosses another.
        is_left = (index % 2 == 0 and x(when) > LEFT + 150) or x(when) > WIDTH - 180
        anchor, beside = ("end", x(when) - 6) if is_left else ("start", x(when) + 6)
        parts.append(text(beside, HEIGHT - BOTTOM - 12, what, "told", anchor))
    points = " ".join(f"{x(when)},{y(reward)}" for when, reward in curve)
    parts.append(f'<polyline class="curve" points="{points}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def ticks(end: float) -> list[float]:
    """Round numbers of seconds, not too many."""
    for step in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500):
        if end / step <= 12:
            break
    return [step * index for index in range(int(end / step) + 1)]


def text(x: float, y: float, what: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(what)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'
