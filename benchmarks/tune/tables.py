"""The tables of choices in the tree, as this machine's processors see them.

What is fast within a host depends on whose processors it has; what goes between hosts has to be
the same for all of them.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.tune.table import Row, parse, replaced, to_text

FOLDER = Path(__file__).resolve().parents[2] / "muster" / "collectives"
COMMON = FOLDER / "choices.inc"
INTEL = FOLDER / "choices_intel.inc"
WITHIN_A_HOST = ("arena", "readable", "windows")


def read(path: Path) -> list[Row]:
    return parse(path.read_text(encoding="utf-8"))


class Tables:
    """`cpu`: its maker first, as harness.reference names it."""

    def __init__(self, cpu: str) -> None:
        self._rows = {COMMON: read(COMMON)}
        if cpu.startswith("GenuineIntel "):
            self._rows[INTEL] = read(INTEL)

    def rows(self) -> list[Row]:
        """All that count on this machine."""
        return replaced(self._rows[COMMON], self._rows.get(INTEL, []))

    def put(self, ground: str, new: Sequence[Row]) -> Path:
        """All rows of one operation on `ground`, where they belong. Says in which file that is.
        What counts already, there or in the common file, is not put anywhere."""
        path = INTEL if INTEL in self._rows and ground in WITHIN_A_HOST else COMMON
        if replaced(self.rows(), new) != self.rows():
            self._rows[path] = replaced(self._rows[path], new, self._rows[COMMON])
        return path

    def text(self, path: Path) -> str:
        return to_text(self._rows[path])
