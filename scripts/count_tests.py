"""Prints how many cases of a JUnit file, ctest's or pytest's, passed, and how many did not.

A case that was skipped, disabled or not built did not pass: on the machines
that this runs on, every case can run.
"""

import sys
import xml.etree.ElementTree as ElementTree


def count(text: str) -> tuple[int, list[str]]:
    """Returns the number of cases that passed, and a line for each that did not."""
    cases = list(ElementTree.fromstring(text).iter("testcase"))
    bad = [f"{case.get('name')}: {outcome(case)}" for case in cases if outcome(case) != "run"]
    return len(cases) - len(bad), bad


def outcome(case: ElementTree.Element) -> str:
    """ "run" if it passed. What ctest says in an attribute, pytest says by an element."""
    status = case.get("status", "run")
    if status != "run":
        return status
    troubles = [kind for kind in ("skipped", "failure", "error") if case.find(kind) is not None]
    return troubles[0] if troubles else "run"


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        good, bad = count(file.read())
    for line in bad:
        print(line, file=sys.stderr)
    print(good, len(bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
