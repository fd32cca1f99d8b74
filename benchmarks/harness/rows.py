"""Turns samples into the lines of the result."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness.program import ProgramError, Sample
from benchmarks.harness.sampling import Rounds
from benchmarks.harness.stats import speed, spread
from benchmarks.harness.suite import LIMIT, OURS, Case, Limit, Peer


@dataclass(frozen=True)
class Row:
    """Ours against one peer, or against an absolute bar, in one case."""

    case: str
    peer: str
    ours: float
    theirs: float
    unit: str
    speed: float
    low: float
    high: float
    pairs: int
    bar: float | None

    @property
    def met(self) -> bool:
        return self.bar is None or self.speed >= self.bar

    def to_json(self) -> dict[str, str | float]:
        names = ("case", "peer", "ours", "theirs", "unit", "speed", "low", "high")
        return {name: getattr(self, name) for name in names}

    def to_line(self) -> str:
        verdict = "for information"
        if self.bar is not None:
            verdict = f"bar {self.bar:.4g}: {'met' if self.met else 'MISSED'}"
        return (
            f"{self.case:22} {self.peer:6} {self.speed:#8.3g}x"
            f"  (middle half {self.low:#.3g}-{self.high:#.3g}, {self.pairs} pairs)"
            f"  ours {_short(self.ours)}, theirs {_short(self.theirs)} {self.unit}  {verdict}"
        )


def peer_row(case: Case, peer: Peer, rounds: Rounds) -> Row | None:
    """None when no pair is left."""
    pairs = rounds.pairs(OURS, peer.name)
    if not pairs:
        return None
    for ours, theirs in pairs:
        _require(ours, theirs.unit, lower_is_better=theirs.lower_is_better, case=case.name)
    lower = pairs[0][0].lower_is_better
    speeds = [speed(ours.value, theirs.value, lower_is_better=lower) for ours, theirs in pairs]
    return _row(
        case.name,
        peer.name,
        [ours.value for ours, _ in pairs],
        [theirs.value for _, theirs in pairs],
        pairs[0][0].unit,
        speeds,
        peer.at_least,
    )


def limit_row(case: Case, limit: Limit, rounds: Rounds) -> Row | None:
    """None when no sample of ours is left."""
    samples = rounds.of(OURS)
    if not samples:
        return None
    figures = [_figure(sample, limit, case.name) for sample in samples]
    speeds = [
        speed(figure, limit.value, lower_is_better=limit.lower_is_better) for figure in figures
    ]
    return _row(case.name, LIMIT, figures, [limit.value], limit.unit, speeds, 1.0)


def _short(figure: float) -> str:
    """Three digits or more, and M for millions: 0.612, 87.2, 55802, 3.15M."""
    if figure >= 1e6:
        return f"{figure / 1e6:.3g}M"
    return f"{figure:.3g}" if figure < 1e3 else f"{figure:.0f}"


def _figure(sample: Sample, limit: Limit, case: str) -> float:
    if limit.extra is None:
        _require(sample, limit.unit, lower_is_better=limit.lower_is_better, case=case)
        return sample.value
    if limit.extra not in sample.extra:
        raise ProgramError(f"{case}: ours printed no extra figure {limit.extra}")
    return sample.extra[limit.extra]


def _require(ours: Sample, unit: str, *, lower_is_better: bool, case: str) -> None:
    """Figures in different units must not be divided by one another."""
    if (ours.unit, ours.lower_is_better) != (unit, lower_is_better):
        raise ProgramError(f"{case}: ours is in {ours.unit}, the other in {unit}")


def _row(
    case: str,
    peer: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    unit: str,
    speeds: Sequence[float],
    bar: float | None,
) -> Row:
    middle = spread(speeds)
    return Row(
        case=case,
        peer=peer,
        ours=spread(ours).median,
        theirs=spread(theirs).median,
        unit=unit,
        speed=middle.median,
        low=middle.low,
        high=middle.high,
        pairs=len(speeds),
        bar=bar,
    )
