"""Draws docs/guides/collectives/*.svg: what each operation does, before and after."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

CELL, GAP, RANKS = 34, 10, 4
COLOURS = ["#4e79a7", "#f28e2b", "#59a14f", "#b07aa1"]
SUM = "#7f7f7f"

Cell = tuple[str, str]  # text, colour


def own(rank: int, index: int | None = None) -> Cell:
    """What `rank` brought; one of its blocks if `index` is given."""
    letter = "ABCD"[rank]
    return (letter if index is None else f"{letter}{index}", COLOURS[rank])


def total(index: int | None = None) -> Cell:
    """The sum over all ranks; of one block if `index` is given."""
    return ("Σ" if index is None else f"Σ{index}", SUM)


def pictures() -> dict[str, tuple[list[list[Cell]], list[list[Cell]]]]:
    """The cells of each rank before and after each operation; rank 0 is the root."""
    ranks = range(RANKS)
    blocks = [[own(rank, i) for i in ranks] for rank in ranks]
    singles = [[own(rank)] for rank in ranks]
    root_only: list[list[Cell]] = [[], [], []]
    return {
        "barrier": ([[] for _ in ranks], [[] for _ in ranks]),
        "broadcast": ([[own(0)], *root_only], [[own(0)] for _ in ranks]),
        "scatter": ([blocks[0], *root_only], [[own(0, i)] for i in ranks]),
        "gather": (singles, [[own(i) for i in ranks], *root_only]),
        "reduce": (singles, [[total()], *root_only]),
        "all_reduce": (singles, [[total()] for _ in ranks]),
        "all_gather": (singles, [[own(i) for i in ranks] for _ in ranks]),
        "reduce_scatter": (blocks, [[total(i)] for i in ranks]),
        "all_to_all": (blocks, [[own(i, rank) for i in ranks] for rank in ranks]),
    }


def draw_cell(x: int, y: int, cell: Cell) -> str:
    """One box with its text."""
    text, colour = cell
    return (
        f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL - 6}" rx="4" fill="{colour}"/>'
        f'<text x="{x + CELL // 2}" y="{y + 19}" fill="#fff" text-anchor="middle">{text}</text>'
    )


def draw(name: str, before: list[list[Cell]], after: list[list[Cell]]) -> str:
    """The whole picture of one operation."""
    step = CELL + 4
    left, right = 70, 70 + RANKS * step + 90
    width, height = right + RANKS * step + GAP, RANKS * (CELL + GAP) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13" role="img">',
        f"<title>{name}: what each rank has before and after</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{left}" y="20" fill="#333">before</text>',
        f'<text x="{right}" y="20" fill="#333">after {name}</text>',
    ]
    for rank in range(RANKS):
        y = 32 + rank * (CELL + GAP)
        parts.append(f'<text x="10" y="{y + 19}" fill="#333">rank {rank}</text>')
        for x0, cells in ((left, before[rank]), (right, after[rank])):
            parts.extend(draw_cell(x0 + i * step, y, cell) for i, cell in enumerate(cells))
    middle, arrow = 32 + RANKS * (CELL + GAP) // 2 - GAP, left + RANKS * step + 10
    parts.append(
        f'<path d="M{arrow} {middle}h50m-8 -6l8 6l-8 6" fill="none" stroke="#333" '
        'stroke-width="2"/>'
    )
    if name == "barrier":
        bar = left + RANKS * step + 35
        parts.append(
            f'<path d="M{bar} 32V{height - 12}" stroke="#e15759" stroke-width="4"/>'
            f'<text x="{left}" y="{height - 14}" fill="#333">nobody goes on before all came</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    """Writes the pictures, or tells whether they are as they would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one differs")
    arguments = parser.parse_args()
    folder = Path(__file__).resolve().parent.parent / "docs" / "guides" / "collectives"
    stale = []
    for name, (before, after) in pictures().items():
        path, text = folder / f"{name}.svg", draw(name, before, after)
        if arguments.check:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                stale.append(path.name)
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"not as drawn: {', '.join(stale)}; run scripts/draw_collectives.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
