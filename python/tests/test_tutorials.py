"""Runs every block of docs/tutorials.

`pycon` blocks of a page are one doctest. `python NAME.py` is a file; a name that begins
with examples/ is one of this repository, in which the block must stand. In `console`
blocks each line after a `$` is run, in the background if it ends in `&`; what it prints
must be what stands below it, where `...` is anything.
"""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\S*) ?(\S*)\n(.*?)^```$", re.M | re.S)


@dataclass
class Page:
    doctests: str = ""
    files: dict[str, str] = field(default_factory=dict)
    snippets: list[tuple[str, str]] = field(default_factory=list)
    consoles: list[str] = field(default_factory=list)


def read(path: Path) -> Page:
    page = Page()
    for kind, name, text in BLOCK.findall(path.read_text(encoding="utf-8")):
        if kind == "pycon":
            page.doctests += text + "\n"
        elif kind == "python" and name.startswith("examples/"):
            page.snippets.append((name, text))
        elif kind == "python" and name:
            page.files[name] = text
        elif kind == "console":
            page.consoles.append(text)
        else:
            raise AssertionError(f"{path.name}: nobody runs a block of {kind or 'nothing'}")
    return page


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command, and what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def is_as_shown(printed: str, shown: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in shown.split("..."))
    return re.fullmatch(pattern, printed, re.S) is not None


def run_console(text: str, folder: Path) -> None:
    later = []
    for command, shown in commands(text):
        words = command.removesuffix("&").split()
        assert words[0] == "python"
        words = [sys.executable, *(str(ROOT / word) if "/" in word else word for word in words[1:])]
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
        later.append((command, process, shown))
        if not command.endswith("&"):
            for each, running, expected in later:
                printed = running.communicate(timeout=150)[0]
                assert running.returncode == 0, each
                assert is_as_shown(printed, expected), f"{each}\n{printed}"
            later.clear()
    assert not later


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_all_that_a_tutorial_shows_is_so(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARTPOLE_GOAL", "150")  # Where a program asks for it: nearer than 475.
    page = read(path)
    for name, text in page.snippets:
        assert "\n" + text in "\n" + (ROOT / name).read_text(encoding="utf-8"), name
    parser = doctest.DocTestParser()
    test = parser.get_doctest(page.doctests, {}, path.stem, str(path), 0)
    assert doctest.DocTestRunner().run(test).failed == 0
    for name, text in page.files.items():
        (tmp_path / name).write_text(text)
    for console in page.consoles:
        run_console(console, tmp_path)
    if path.stem == "3-cartpole":
        picture = (tmp_path / "reward.svg").read_text()
        assert "worker_2 was killed" in picture and "worker_2 returned" in picture


def test_the_tutorials_are_found() -> None:
    assert [path.stem for path in PAGES] == ["1-hello", "2-worker", "3-cartpole"]
    assert os.access(ROOT / "examples" / "quickstart.py", os.R_OK)
