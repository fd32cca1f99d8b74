"""The table of choices as it stands in the tree: reading, replacing, writing."""

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


def merged(
    ground: str, operation: str, ranks: int, best: Sequence[tuple[int, Method]]
) -> list[Row]:
    """Rows from the best method at each size, which go up. The last one is for all above;
    between two sizes of different methods, the border is their geometric middle."""
    rows: list[Row] = []
    for index, (size, method) in enumerate(best):
        if index + 1 == len(best):
            rows.append(Row(ground, operation, ranks, None, method))
        elif best[index + 1][1] != method:
            border = int((size * best[index + 1][0]) ** 0.5)
            rows.append(Row(ground, operation, ranks, border, method))
    return rows


def replaced(rows: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """`rows`, with those of the grounds and operations of `new` taken out and `new` put there."""
    fresh = {(row.ground, row.operation) for row in new}
    kept = [row for row in rows if (row.ground, row.operation) not in fresh]
    order = list(dict.fromkeys((row.ground, row.operation) for row in rows))
    order += [key for key in fresh if key not in order]
    return sorted([*kept, *new], key=lambda row: order.index((row.ground, row.operation)))


def compact(of_ranks: Sequence[Sequence[Row]]) -> list[Row]:
    """All rows, but for those of more ranks that say what those of fewer say."""
    rows: list[Row] = []
    last: list[tuple[int | None, Method]] = []
    for tier in of_ranks:
        said = [(row.up_to, row.method) for row in tier]
        if said != last:
            rows += tier
        last = said
    return rows


def chosen(
    rows: Sequence[Row], ground: str, operation: str, ranks: int, size: int
) -> Method | None:
    """As the library chooses: of the most ranks that are not too many, the first that fits."""
    fitting = [
        row
        for row in rows
        if (row.ground, row.operation) == (ground, operation)
        and row.ranks <= ranks
        and (row.up_to is None or row.up_to >= size)
    ]
    if not fitting:
        return None
    most = max(row.ranks for row in fitting)
    tier = [row for row in fitting if row.ranks == most]
    return min(tier, key=lambda row: float("inf") if row.up_to is None else row.up_to).method
