"""What the package says of itself is true: its examples run, its stub is complete."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import muster
from muster import _core

MODULES = ["muster"] + [
    info.name
    for info in pkgutil.walk_packages(muster.__path__, "muster.")
    if info.name != "muster._core"
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("name", ["EventCondition", "EventTable", "Message"])
def test_the_examples_of_the_extensions_classes_run(name: str) -> None:
    text = inspect.getdoc(getattr(_core, name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def test_every_public_name_has_a_docstring() -> None:
    bare = [name for name in muster.__all__ if not inspect.getdoc(getattr(muster, name))]
    for type_ in (muster.Proxy, muster.Communicator, muster.Operation):
        calls = [name for name in dir(type_) if not name.startswith("_")]
        bare += [name for name in calls if not inspect.getdoc(getattr(type_, name))]
    assert bare == []


GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "python.md"


def test_the_guide_runs_from_top_to_bottom() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    assert len(blocks) >= 5
    exec(compile("\n".join(blocks), str(GUIDE), "exec"), {"__name__": "guide"})


def stub() -> dict[str, set[str]]:
    """The names of the stub's classes and functions, with the classes' own members."""
    tree = ast.parse(Path(muster.__file__).with_name("_core.pyi").read_text())
    found: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = [item for item in node.body if isinstance(item, ast.FunctionDef)]
            found[node.name] = {member.name for member in members}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = set()
    return found


# What every class has, or that Python makes of a slot.
USUAL = {"__init__", "__repr__", "__str__", "__eq__", "__hash__", "__bool__", "__buffer__"}


def test_the_stub_has_what_the_extension_has() -> None:
    said = stub()
    here = {name for name in dir(_core) if not name.startswith("__")}
    assert set(said) == here
    for name, members in said.items():
        thing = getattr(_core, name)
        if isinstance(thing, type):
            own = {member for member in vars(thing) if not member.startswith("__")}
            assert {m for m in members if not m.startswith("__")} == own, name
            assert all(hasattr(thing, member) for member in members - USUAL), name
