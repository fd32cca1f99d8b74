"""Signals stay the program's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from conftest import PATIENCE

SIGNALS = ["SIGHUP", "SIGILL", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGTERM", "SIGABRT"]

# The sanitizer's own handlers, where the extension was built with it, are none of ours.
NO_HANDLERS = "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env=os.environ | {"ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:{NO_HANDLERS}"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("name", SIGNALS)
def test_importing_leaves_signals_alone(name: str) -> None:
    program = """
        import os, resource, signal, sys
        number = getattr(signal, sys.argv[1])
        signal.signal(number, signal.SIG_DFL)  # Under nohup it is not.
        import muster
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), number)
        """
    done = _run(program, name)
    assert (done.returncode, done.stdout, done.stderr) == (-getattr(signal, name), "", "")


def test_importing_leaves_handlers_in_place() -> None:
    program = """
        import faulthandler, os, resource, signal, sys
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        def state():
            lines = open("/proc/self/status").read().splitlines()
            return [line for line in lines if line.startswith("Sig")]
        signal.signal(signal.SIGHUP, lambda *_: print("hung up", flush=True))
        faulthandler.enable()
        signal.signal(signal.SIGBUS, signal.SIG_IGN)
        before = state()
        import muster
        assert state() == before, (state(), before)
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGBUS)
        os.kill(os.getpid(), signal.SIGSEGV)
        """
    done = _run(program)
    assert done.returncode == -signal.SIGSEGV
    assert done.stdout == "hung up\n"
    assert done.stderr.startswith("Fatal Python error: Segmentation fault")
