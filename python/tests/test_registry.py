"""Where a group meets, and what is said if it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import PATIENCE

import muster
from muster import Proxy


def test_a_registry_that_cannot_be_is_told_at_once(group: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    (tmp_path / "open").mkdir(mode=0o755)
    for name, why in (("file", "no folder"), ("open", "chmod 700"), ("none/none", "No such file")):
        folder = str(tmp_path / name)
        for join in (
            lambda where: Proxy(group, "one", registry=where),
            lambda where: muster.Communicator(group, 0, 1, registry=where),
        ):
            with pytest.raises(muster.Error, match=why) as raised:
                join(folder)
            assert folder in str(raised.value)


def test_why_a_registry_says_nothing_is_told(group: str, tmp_path: Path) -> None:
    (tmp_path / "muster").write_text("no folder")
    program = """
        import sys, muster
        for join in (
            lambda: muster.Proxy(sys.argv[1], "one", timeout=0.5),
            lambda: muster.Communicator(sys.argv[1], 0, 2, timeout=0.5),
        ):
            try:
                join()
            except muster.TimedOutError as raised:
                print("no folder; remove it" in str(raised))
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), group],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\nTrue\n", "")
