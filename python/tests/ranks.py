"""Programs that are run once for each rank, as processes of their own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from conftest import PATIENCE

RANKS = 3

BEGIN = """
import asyncio, gc, os, sys, threading, numpy as np, muster
name, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
"""


def run_ranks(name: str, program: str, **manners: object) -> list[str]:
    """The program once for each rank, with `all` as its communicator. What each printed."""
    join = f"all = muster.Communicator(name, rank, size, timeout={PATIENCE}, **{manners!r})\n"
    return run_each(name, join + textwrap.dedent(program))


def run_each(name: str, program: str) -> list[str]:
    """The program once for each rank, which makes its communicator itself."""
    text = BEGIN + textwrap.dedent(program)
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", text, name, str(rank), str(RANKS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    done = [rank.communicate(timeout=4 * PATIENCE) for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * RANKS, done
    return [out.strip() for out, _ in done]
