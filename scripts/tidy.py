"""Runs clang-tidy on every source of muster/ that is not a test.

Sources of one folder are looked at together, as one that includes them all: most
of the work is in the headers that they share. Where that finds a fault, or does
not compile, each is looked at alone. With --deep each is, and the analyzer, which
sees only what stands in the source itself, goes along.

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
# As many as share most of their headers, and as few as share no names by chance.
TOGETHER = 8
SHALLOW = ["--checks=-clang-analyzer-*"]
# The analyzer goes as deep as a few minutes for all sources allow.
DEEP = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang")]
DEEP.append("--extra-arg=max-nodes=15000")


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


def run(arguments: list[str]) -> tuple[bool, str]:
    done = subprocess.run(
        [TIDY, "--quiet", *arguments], capture_output=True, text=True, check=False
    )
    # Of the standard error only the count of hidden warnings is left out.
    words = done.stdout + re.sub(r"^.*warnings? .*\n?", "", done.stderr, flags=re.M)
    return done.returncode == 0, words


def flags_of(command: str) -> list[str]:
    """What a compiler's command says beside its own name, the source and the object."""
    words = command.split()
    words = words[next(i for i, word in enumerate(words) if word.startswith("-")) :]
    return words[: words.index("-o")]


def look_together(sources: list[pathlib.Path], command: str, scratch: pathlib.Path) -> bool:
    one = scratch / f"{hashlib.sha256(str(sources).encode()).hexdigest()[:16]}.cpp"
    one.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    return run([*SHALLOW, str(one), "--", *flags_of(command)])[0]


class Sweep:
    """One run over what is stale."""

    def __init__(self, build: pathlib.Path, cache: pathlib.Path, is_deep: bool) -> None:
        self.build = build
        self.cache = cache
        self.is_deep = is_deep
        self.dirty = 0

    def look(self, batch: list[tuple[pathlib.Path, str, pathlib.Path]]) -> None:
        """Looks at sources that come with their command and the mark of the clean."""
        start = time.monotonic()
        sources = [source for source, _, _ in batch]
        if not self.is_deep and look_together(sources, batch[0][1], self.cache):
            for _, _, mark in batch:
                mark.touch()
        else:
            for source, _, mark in batch:
                self.look_alone(source, mark)
        names = " ".join(source.name for source in sources)
        print(f"{time.monotonic() - start:6.1f} s  {sources[0].parent.relative_to(ROOT)}: {names}")

    def look_alone(self, source: pathlib.Path, mark: pathlib.Path) -> None:
        depth = DEEP if self.is_deep else SHALLOW
        clean, words = run([*depth, "-p", str(self.build), str(source)])
        if clean:
            mark.touch()
        else:
            self.dirty += 1
            print(words)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a clang build folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--deep", action="store_true", help="each alone, with the analyzer")
    args = parser.parse_args()

    cache = ROOT / "build" / "tidy-cache"
    cache.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_bytes() + pathlib.Path(__file__).read_bytes()
    common += b"deep" if args.deep else b""
    commands = json.loads((args.build / "compile_commands.json").read_text(encoding="utf-8"))
    seen = 0
    folders: dict[pathlib.Path, list[tuple[pathlib.Path, str, pathlib.Path]]] = {}
    for entry in commands:
        source = pathlib.Path(entry["file"])
        # In tests it finds little but GoogleTest's macros, and takes longest.
        is_test = source.stem.endswith("_test") or source.parent.name == "testing"
        if not source.is_relative_to(ROOT / "muster") or not source.exists() or is_test:
            continue
        seen += 1
        mark = cache / fingerprint(source, entry["command"], common)
        if not mark.exists():
            folders.setdefault(source.parent, []).append((source, entry["command"], mark))
    together = 1 if args.deep else TOGETHER
    batches = [
        stale[i : i + together]
        for stale in folders.values()
        for i in range(0, len(stale), together)
    ]
    sweep = Sweep(args.build, cache, args.deep)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(sweep.look, batches))
    print(f"{seen} sources, {sum(map(len, batches))} looked at, {sweep.dirty} with faults")
    return 1 if sweep.dirty else 0


if __name__ == "__main__":
    sys.exit(main())
