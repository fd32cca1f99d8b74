"""Two of which one does not listen, until there is no room for the smallest answer to it."""

from __future__ import annotations

import pytest
from conftest import PATIENCE, Join

import muster
from muster import Message, Proxy, SessionType


def crowded(join: Join) -> tuple[Proxy, Proxy, Message]:
    """a, b who does not listen, and a task of b's that a has no room to answer."""
    a = join("one", "a", max_queued=1000)
    b = join("other", "b", expected=["a"], max_waiting=1000)
    a.wait_for_peers(["b"], PATIENCE)
    for _ in range(100):  # What is on its way to b makes room for a while.
        b.isend("task", "a")
        task = a.receive_once(PATIENCE)
        assert task is not None
        _fill(a)
        try:
            a.acknowledge(task, timeout=0.05)
        except muster.OverloadedError:
            return a, b, task
    raise AssertionError("there is always room")


def _fill(a: Proxy) -> None:
    for body in (bytes(1000), None):
        with pytest.raises(muster.OverloadedError):
            while True:
                a.isend("filling", "b", body, SessionType.NOTIFICATION)
