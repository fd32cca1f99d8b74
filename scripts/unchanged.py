"""Tells which tests need not run again: those that passed, of which nothing changed since.

    unchanged.py plan BUILD [ctest's selection]   writes BUILD/unchanged.txt for `ctest -I`,
                                                  prints how many need not run, how many must
    unchanged.py keep BUILD REPORT                notes what passed, by ctest's JUnit report
    unchanged.py seen STEP PATH...                succeeds if STEP passed with these files
    unchanged.py note STEP PATH... [-- WORDS]     notes that it did; seen prints the WORDS

A unit test hangs on its own program and on the files it may read, any other test on all
programs of its build. What is remembered lies in the build folders: a fresh clone runs all.
"""

import collections
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from typing import Any

import count_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = ROOT / "build" / "logs" / "passed.json"
# In a program already, or read by none.
NOT_READ = (".cpp", ".h", ".md", ".svg", ".patch")


def digest_of(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_all(paths: Iterable[pathlib.Path]) -> str:
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{path} {digest_of(path)}\n".encode())
    return whole.hexdigest()


def tracked(*paths: str) -> list[pathlib.Path]:
    """Files that git knows or would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    names = subprocess.run([*command, *paths], cwd=ROOT, capture_output=True, check=True).stdout
    found = (ROOT / name for name in os.fsdecode(names).split("\0") if name)
    return [path for path in found if path.is_file()]


def programs(build: pathlib.Path) -> list[pathlib.Path]:
    return [
        path
        for path in build.rglob("*")
        if path.is_file() and os.access(path, os.X_OK) and "CMakeFiles" not in path.parts
    ]


def keys(tests: list[dict[str, Any]], build: pathlib.Path, data: str) -> dict[str, str]:
    """What each test hangs on, by its name. Those that are not built hang on nothing."""
    digests = {str(path): digest_of(path) for path in programs(build)}
    everything = hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()
    names = collections.Counter(test["name"] for test in tests)
    found = {}
    for test in tests:
        command = test.get("command")
        # Of two that have one name a report does not tell which passed.
        if not command or names[test["name"]] > 1:
            continue
        own = digests.get(command[0]) if is_alone(test) else None
        found[test["name"]] = " ".join([own or everything, data, *command[1:]])
    return found


def is_alone(test: dict[str, Any]) -> bool:
    labels = {
        word
        for one in test.get("properties", [])
        if one["name"] == "LABELS"
        for label in one["value"]
        for word in label.split(".")
    }
    return "unit" in labels and not labels & {"process", "example", "bench"}


def to_run(tests: list[dict[str, Any]], now: dict[str, str], before: dict[str, str]) -> list[int]:
    """Numbers, as ctest counts, of those that must run."""
    return [
        number
        for number, test in enumerate(tests, start=1)
        if test["name"] not in now or now[test["name"]] != before.get(test["name"])
    ]


def list_tests(build: pathlib.Path, selection: list[str]) -> list[dict[str, Any]]:
    command = ["ctest", "--test-dir", str(build), "--show-only=json-v1", *selection]
    told = subprocess.run(command, capture_output=True, check=True).stdout
    tests: list[dict[str, Any]] = json.loads(told)["tests"]
    return tests


def read(path: pathlib.Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return known


def data_digest() -> str:
    return digest_of_all(path for path in tracked() if path.suffix not in NOT_READ)


def to_numbers(must: list[int]) -> str:
    """As `ctest -I` takes them: a range, its stride, and single numbers besides."""
    # From 0 to 0 would be all of them.
    first = must[0] if must else 0
    return ",".join(map(str, [first, first, 1, *must])) + "\n"


def plan(build: pathlib.Path, selection: list[str]) -> None:
    tests = list_tests(build, [])
    selected = {test["name"] for test in list_tests(build, selection)}
    now = keys(tests, build, data_digest())
    (build / "now.json").write_text(json.dumps(now), "utf-8")
    must = to_run(tests, now, read(build / "passed.json"))
    count = sum(tests[number - 1]["name"] in selected for number in must)
    (build / "unchanged.txt").write_text(to_numbers(must), "utf-8")
    print(len(selected) - count, count)


def keep(build: pathlib.Path, report: pathlib.Path) -> None:
    now = read(build / "now.json")
    passed = read(build / "passed.json")
    for case in ElementTree.fromstring(report.read_text("utf-8")).iter("testcase"):
        name = case.get("name", "")
        if count_tests.outcome(case) == "run" and name in now:
            passed[name] = now[name]
        else:
            passed.pop(name, None)
    (build / "passed.json").write_text(json.dumps(passed), "utf-8")


def main(words: list[str]) -> int:
    task, subject, *rest = words
    if task == "plan":
        plan(pathlib.Path(subject).resolve(), rest)
    elif task == "keep":
        keep(pathlib.Path(subject).resolve(), pathlib.Path(rest[0]))
    else:
        at = rest.index("--") if "--" in rest else len(rest)
        key = digest_of_all(tracked(*rest[:at]))
        steps = read(STEPS)
        if task == "seen":
            if steps.get(subject, {}).get("key") != key:
                return 1
            print(steps[subject]["words"])
        else:
            steps[subject] = {"key": key, "words": " ".join(rest[at + 1 :])}
            STEPS.write_text(json.dumps(steps), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
