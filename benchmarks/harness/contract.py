"""Checks that a benchmark program keeps the contract of docs/contributing/benchmarks.md.

`python3 -m benchmarks.harness.contract PROGRAM` runs each of its cases once and
briefly, so that none of them can rot unseen.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.program import (
    NO_SUCH_CASE,
    TIMEOUT_SECONDS,
    ProgramError,
    parse_sample,
)

BRIEFLY = "0.05"


def _run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *words], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )


def complaints(program: Path) -> list[str]:
    found = []
    if _run(program, "no.such.case").returncode != NO_SUCH_CASE:
        found.append(f"an unknown case must give exit status {NO_SUCH_CASE}")
    if _run(program).returncode != 2:
        found.append("no case at all must give exit status 2")
    cases = _run(program, "--list").stdout.split()
    if not cases:
        found.append("--list gives no case")
    for case in cases:
        done = _run(program, case, "--seconds", BRIEFLY)
        if done.returncode != 0:
            found.append(f"{case}: exit status {done.returncode}: {done.stderr.strip()}")
            continue
        try:
            parse_sample(done.stdout)
        except ProgramError as error:
            found.append(f"{case}: {error}")
    return found


def main(arguments: Sequence[str]) -> int:
    found = complaints(Path(arguments[0]))
    for complaint in found:
        print(complaint, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
