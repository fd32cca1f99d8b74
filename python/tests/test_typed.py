"""Programs that mypy checks (pyproject.toml names their folder) run as it has read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE

import muster

INSTALLED = Path(muster.__file__).parent
TYPED = Path(__file__).parent / "typed"


def test_a_component_is_what_mypy_takes_it_for(group: str) -> None:
    done = subprocess.run(
        [sys.executable, str(TYPED / "component.py"), group],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_the_package_that_is_installed_says_that_it_has_types() -> None:
    for name in ("py.typed", "_core.pyi", "mypy_plugin.py"):
        assert (INSTALLED / name).is_file(), name
