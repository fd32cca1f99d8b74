"""What must be done when the process ends, however it ends."""

from __future__ import annotations

import atexit
import os
import sys

from muster import _core

_prepared_for = 0


def runtime_started() -> None:
    """Called when this process has its first proxy, or its first array in the arena."""
    global _prepared_for
    if _prepared_for == os.getpid():
        return
    if _prepared_for == 0:
        atexit.register(_core.close)
    _prepared_for = os.getpid()
    # The children of multiprocessing end without a call of atexit's functions.
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, _core.close, exitpriority=0)
