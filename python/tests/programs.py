"""Programs of a test's own, which must end by themselves."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from conftest import PATIENCE


def run(
    program: str, *arguments: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A program of its own, which must end by itself."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


def check(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, says, "")
