"""The table of choices as it stands in the tree: reading, replacing, writing."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEAD = (
    "// ground, operation, from so many ranks, up to so many bytes, algorithm, bytes of a segment\n"
)
ROW = re.compile(r"^\{Ground::(\w+), (\w+), (\d+), (\w+), (\w+), (\d+)\},$", re.M)
ANY = "kAny"


@dataclass(frozen=True)
class Method:
    algorithm: str
    segment: int = 0


@dataclass(frozen=True)
class Row:
    ground: str
    operation: str
    ranks: int
    up_to: int | None
    """Bytes; None: any number."""
    method: Method

    def to_line(self) -> str:
        most = ANY if self.up_to is None else str(self.up_to)
        return (
            f"{{Ground::{self.ground}, {self.operation}, {self.ranks}, {most}, "
            f"{self.method.algorithm}, {self.method.segment}}},\n"
        )


def parse(text: str) -> list[Row]:
    return [
        Row(
            ground,
            operation,
            int(ranks),
            None if up_to == ANY else int(up_to),
            Method(algorithm, int(segment)),
        )
        for ground, operation, ranks, up_to, algorithm, segment in ROW.findall(text)
    ]


def to_text(rows: Iterable[Row]) -> str:
    text = HEAD
    last = None
    for row in rows:
        if last not in (None, row.ground):
            text += "\n"
        last = row.ground
        text += row.to_line()
    return text


def _key(row: Row) -> tuple[str, str]:
    return (row.ground, row.operation)


def replaced(rows: Sequence[Row], new: Sequence[Row], order: Sequence[Row] = ()) -> list[Row]:
    """`rows`, with those of the grounds and operations of `new` taken out and `new` put there;
    grounds and operations go as in `order`, then as in `rows`."""
    fresh = {_key(row) for row in new}
    kept = [row for row in rows if _key(row) not in fresh]
    keys = list(dict.fromkeys(_key(row) for row in [*order, *rows, *new]))
    return sorted([*kept, *new], key=lambda row: keys.index(_key(row)))


def most(up_to: int | None) -> float:
    return math.inf if up_to is None else up_to


def find(rows: Sequence[Row], ground: str, operation: str, ranks: int, size: float) -> Row | None:
    """As the library does: of the most ranks that are not too many, the first that fits."""
    fitting = [
        row
        for row in rows
        if _key(row) == (ground, operation) and row.ranks <= ranks and most(row.up_to) >= size
    ]
    return min(fitting, key=lambda row: (-row.ranks, most(row.up_to)), default=None)


def chosen(
    rows: Sequence[Row], ground: str, operation: str, ranks: int, size: float
) -> Method | None:
    row = find(rows, ground, operation, ranks, size)
    return None if row is None else row.method
