"""Prints how many cases of a ctest JUnit file passed, and how many did not.

A case that was skipped, disabled or not built did not pass: on the machines
that this runs on, every case can run.
"""

import sys
import xml.etree.ElementTree as ElementTree


def count(text: str) -> tuple[int, list[str]]:
    """Returns the number of cases that passed, and a line for each that did not."""
    cases = ElementTree.fromstring(text).findall("testcase")
    bad = [f"{case.get('name')}: {case.get('status')}" for case in cases if not passed(case)]
    return len(cases) - len(bad), bad


def passed(case: ElementTree.Element) -> bool:
    return case.get("status") == "run" and case.find("skipped") is None


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        good, bad = count(file.read())
    for line in bad:
        print(line, file=sys.stderr)
    print(good, len(bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
