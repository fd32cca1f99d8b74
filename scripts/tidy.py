"""Runs clang-tidy on every source of muster/ that is not a test, several at a time.

A source that was found clean is remembered by a hash of everything of ours that
it sees, so that only what changed is looked at again.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIDY = "clang-tidy-19"
INCLUDE = re.compile(rb'^#include "([^"]+)"', re.M)
# The analyzer goes as deep as a minute's worth of all sources allows.
DEPTH = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang")]
DEPTH.append("--extra-arg=max-nodes=15000")


def seen_by(source: pathlib.Path) -> list[pathlib.Path]:
    """The source and all of ours that it includes, directly or not."""
    found = {source}
    todo = [source]
    while todo:
        for name in INCLUDE.findall(todo.pop().read_bytes()):
            path = ROOT / name.decode()
            if path.exists() and path not in found:
                found.add(path)
                todo.append(path)
    return sorted(found)


def fingerprint(source: pathlib.Path, command: str, common: bytes) -> str:
    digest = hashlib.sha256(common + command.encode())
    for path in seen_by(source):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def tidy(source: pathlib.Path, build: pathlib.Path) -> tuple[bool, str, float]:
    start = time.monotonic()
    done = subprocess.run(
        [TIDY, "--quiet", *DEPTH, "-p", str(build), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    # Of the standard error only the count of hidden warnings is left out.
    words = done.stdout + re.sub(r"^.*warnings? .*\n?", "", done.stderr, flags=re.M)
    return done.returncode == 0, words, time.monotonic() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a clang build folder")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    cache = ROOT / "build" / "tidy-cache"
    cache.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes()
    commands = json.loads((args.build / "compile_commands.json").read_text(encoding="utf-8"))
    marks: dict[pathlib.Path, pathlib.Path] = {}
    for entry in commands:
        source = pathlib.Path(entry["file"])
        # In tests it finds little but GoogleTest's macros, and takes longest.
        is_test = source.stem.endswith("_test") or source.parent.name == "testing"
        if source.is_relative_to(ROOT / "muster") and source.exists() and not is_test:
            marks[source] = cache / fingerprint(source, entry["command"], common)
    stale = {source: mark for source, mark in marks.items() if not mark.exists()}

    # The largest first, so that no long one is left for the end.
    order = sorted(stale, key=lambda source: -source.stat().st_size)
    dirty = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for source, (clean, words, seconds) in zip(
            order, pool.map(lambda source: tidy(source, args.build), order), strict=True
        ):
            print(f"{seconds:6.1f} s  {source.relative_to(ROOT)}")
            if clean:
                stale[source].touch()
            else:
                dirty += 1
                print(words)
    print(f"{len(marks)} sources, {len(stale)} looked at, {dirty} with faults")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
