"""Fails when a folder of muster/ includes one that its muster_module() line does not name.

Tests may include anything. A folder `testing` may include what the folder that
holds it may; only tests and other such folders include it. A folder `internal`
is for the folder that holds it. Headers include nobody else's library.
"""

import pathlib
import re
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULE = re.compile(r"^muster_module\(\s*(\S+)\s+([^)]*)\)", re.M)
KEYWORDS = {"DEPS", "PRIVATE_DEPS", "NEEDS", "TEST_DEPS", "LABELS", "SERIAL"}
INCLUDE = re.compile(r'^#include "muster/([a-z_/]+)/[a-z_0-9]+\.h"', re.M)
FOREIGN = re.compile(
    r"^#include [<\"]((?:fmt|spdlog|openssl|CLI|zmq|nng|ucp|uct|nlohmann|msgpack|zstd|lz4"
    r"|gtest|gmock|rapidcheck)[/.][^>\"]*)",
    re.M,
)


def read_modules(text: str) -> dict[str, set[str]]:
    """Returns, for each folder, the folders that its line names under DEPS."""
    lines = {match[1]: match[2].split() for match in MODULE.finditer(text)}
    folder_of = {f"muster::{folder.replace('/', '_')}": folder for folder in lines}
    deps: dict[str, set[str]] = {folder: set() for folder in lines}
    for folder, words in lines.items():
        keyword = ""
        for word in words:
            if word in KEYWORDS:
                keyword = word
            elif keyword == "DEPS" and word.startswith("muster::"):
                deps[folder].add(folder_of.get(word, word))
    return deps


def closure(folder: str, deps: dict[str, set[str]]) -> set[str]:
    return {folder}.union(*(closure(dep, deps) for dep in deps.get(folder, ())))


def module_of(folder: str) -> str:
    """The folder whose muster_module() line speaks for `folder`."""
    return re.sub(r"/(testing|internal|missing)$", "", folder)


def is_test(path: pathlib.Path) -> bool:
    return path.stem.endswith("_test")


def faults_of(path: pathlib.Path, folder: str, deps: dict[str, set[str]]) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    in_testing = folder.endswith("/testing")
    if path.suffix == ".h" and not in_testing:
        for name in FOREIGN.findall(text):
            yield f"a header may not include {name}"
    if is_test(path):
        return
    allowed = closure(module_of(folder), deps)
    for included in INCLUDE.findall(text):
        if module_of(included) not in allowed:
            yield f"{module_of(folder)} may not include {included}"
        elif included.endswith("/testing") and not in_testing:
            yield f"only tests may include {included}"
        elif included.endswith("/internal") and module_of(included) != module_of(folder):
            yield f"{included} is for {module_of(included)} alone"


def check(root: pathlib.Path) -> list[str]:
    deps = read_modules((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    faults = []
    for path in sorted((root / "muster").rglob("*")):
        if path.suffix not in (".h", ".cpp"):
            continue
        folder = path.parent.relative_to(root / "muster").as_posix()
        shown = path.relative_to(root)
        if module_of(folder) not in deps:
            faults.append(f"{shown}: no muster_module() line for {module_of(folder)}")
            continue
        faults += [f"{shown}: {fault}" for fault in faults_of(path, folder, deps)]
    return faults


def main() -> int:
    faults = check(ROOT)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
