"""Programs that mypy checks (pyproject.toml names their folder) run as it has read them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import PATIENCE

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
