"""What a suite of benchmarks consists of: plain data, no running."""

from dataclasses import dataclass

OURS = "muster"
LIMIT = "limit"


@dataclass(frozen=True)
class Peer:
    """A program that ours is compared with: `raw` stands for `bench_raw`."""

    name: str
    at_least: float | None = None
    """The bar for ours: how many times faster. None: for information."""
    case: str | None = None
    """The peer's name for the case, where it differs from ours."""


@dataclass(frozen=True)
class Limit:
    """An absolute bar for a figure of ours."""

    value: float
    unit: str
    lower_is_better: bool = True
    extra: str | None = None
    """The figure among the sample's extras; None: its value."""


@dataclass(frozen=True)
class Case:
    name: str
    peers: tuple[Peer, ...] = ()
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Suite:
    name: str
    cases: tuple[Case, ...]
    language: str = "c++"
    """What its programs are written in: how they are made ready."""
    quick: tuple[str, ...] = ()
    """The cases of --quick; empty: all."""
