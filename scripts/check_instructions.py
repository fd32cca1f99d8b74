"""Checks that no hot path takes more instructions than its ceiling.

benchmarks/instructions.json holds {case: ceiling}, in instructions per message.
`bench_instructions CASE COUNT` sends and receives COUNT messages in a function
`exchange`, in which alone is counted; it runs under callgrind twice, with one count
and with twice as many, so that what the first messages cost falls out of the
difference.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "benchmarks" / "instructions.json"
PROGRAM = ROOT / "build" / "release" / "benchmarks" / "bench_instructions"
COUNT = 2000


def instructions(case: str, count: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += ["--collect-atstart=no", "--toggle-collect=*::exchange(*"]
    process = subprocess.Popen(
        [*command, str(PROGRAM), case, str(count)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    words = process.communicate()[1]
    # By its id: a child that the program forks reports a count of its own.
    found = re.search(rf"^=={process.pid}== Collected : (\d+)", words, re.M)
    if process.returncode != 0 or found is None:
        raise SystemExit(f"{case}: bench_instructions failed under callgrind\n{words}")
    return int(found[1])


def per_message(case: str) -> float:
    return (instructions(case, 2 * COUNT) - instructions(case, COUNT)) / COUNT


def main() -> int:
    over = 0
    for case, ceiling in json.loads(TABLE.read_text(encoding="utf-8")).items():
        count = per_message(case)
        verdict = "ok" if 1 <= count <= ceiling else "OVER" if count > ceiling else "COUNTS NOTHING"
        over += verdict != "ok"
        print(f"{case:32} {count:8.0f} per message, at most {ceiling}  {verdict}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
