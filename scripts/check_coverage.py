"""Fails when docs/reference/coverage.md leaves out a feature or names a test that is not there.

Each of the rows M1 to M69 stands in it once, and its last column lists tests as
`Suite.Case`, a suite with parameters by its own name. A row with "none" there
must say "not yet".
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/reference/coverage.md"
ROWS = [f"M{number}" for number in range(1, 70)]
SOURCES = ("muster", "tests")
COLUMNS = 4
NO_TEST = "none"
CELL_END = re.compile(r"(?<!\\)\|")
TEST_NAMES = re.compile(r"`\w+\.\w+`(?:, `\w+\.\w+`)*")
# At the start of a line: one that is commented out does not count.
TEST = re.compile(
    r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)"
    r"\(\s*(\w+),\s*(?!DISABLED_)(\w+)",
    re.M,
)


def known_tests(root: pathlib.Path) -> set[str]:
    tests = set()
    for folder in SOURCES:
        for path in (root / folder).rglob("*.cpp"):
            found = TEST.findall(path.read_text(encoding="utf-8"))
            tests.update(f"{suite}.{case}" for suite, case in found)
    return tests


def table_rows(text: str) -> list[list[str]]:
    """The cells of each line that begins with a row's number, right or wrong."""
    lines = [line for line in text.splitlines() if re.match(r"\|\s*M\d", line)]
    return [[cell.strip() for cell in CELL_END.split(line)[1:-1]] for line in lines]


def row_faults(cells: list[str], tests: set[str]) -> list[str]:
    row = cells[0]
    if len(cells) != COLUMNS or not all(cells):
        return [f"{row}: must have {COLUMNS} cells with something in each"]
    named = cells[-1]
    if named == NO_TEST:
        says_so = "not yet" in cells[2].lower()
        return [] if says_so else [f'{row}: has no test and does not say "not yet"']
    if TEST_NAMES.fullmatch(named) is None:
        return [f'{row}: its tests must read `Suite.Case`, `Suite.Case`; or "{NO_TEST}"']
    names = named.replace("`", "").split(", ")
    return [f"{row}: there is no test {name}" for name in names if name not in tests]


def check(root: pathlib.Path) -> list[str]:
    rows = table_rows((root / PAGE).read_text(encoding="utf-8"))
    numbers = [cells[0] for cells in rows]
    faults = [f"{row}: is missing" for row in ROWS if row not in numbers]
    faults += [f"{row}: stands there twice" for row in ROWS if numbers.count(row) > 1]
    faults += [f"{row}: is no row" for row in numbers if row not in ROWS]
    tests = known_tests(root)
    for cells in rows:
        faults += row_faults(cells, tests)
    return [f"{PAGE}: {fault}" for fault in faults]


def main() -> int:
    faults = check(ROOT)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
