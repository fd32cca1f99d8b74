"""Ctrl-C and sys.exit() reach who called."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import PATIENCE, Join

import muster
from muster import Proxy, SessionType

NOTE = SessionType.NOTIFICATION
EXITS = [KeyboardInterrupt, SystemExit]


class RaisesWhenWritten:
    def __init__(self, what: type[BaseException]) -> None:
        self.what = what

    def __reduce__(self) -> Any:
        raise self.what("while it was pickled")


class RaisesWhenRead:
    def __init__(self, what: type[BaseException]) -> None:
        self.what = what

    def __reduce__(self) -> Any:
        return _raise, (self.what,)


def _raise(what: type[BaseException]) -> None:
    raise what("while it was read")


@pytest.mark.parametrize("what", [*EXITS, MemoryError])
def test_an_exit_leaves_a_body_that_is_written(
    pair: tuple[Proxy, Proxy], what: type[BaseException]
) -> None:
    with pytest.raises(what, match="pickled"):
        pair[0].isend("x", "b", RaisesWhenWritten(what))
    with pytest.raises(muster.InvalidError, match="cannot be pickled"):
        pair[0].isend("x", "b", RaisesWhenWritten(ValueError))


@pytest.mark.parametrize("what", EXITS)
def test_an_exit_leaves_a_body_that_is_read(join: Join, what: type[BaseException]) -> None:
    a = join("one", "a")
    b = join("two", "b", expected=["a"], accepts_pickles=True)
    a.wait_for_peers(["b"], PATIENCE)
    asked = a.request("x", "b", RaisesWhenRead(what))
    with pytest.raises(what, match="read"):
        b.receive_once(PATIENCE)
    with pytest.raises(muster.Error, match="the program ended"):  # Nobody waits for it in vain.
        asked.result(PATIENCE)
    a.isend("x", "b", RaisesWhenRead(ValueError), NOTE)
    a.isend("x", "b", "next", NOTE)
    message = b.receive_once(PATIENCE)
    assert message is not None and message.body == "next"


@pytest.mark.parametrize("what", EXITS)
def test_an_exit_leaves_a_listener_of_events(
    group: str, join: Join, what: type[BaseException]
) -> None:
    def listen(event: muster.ProxyEvent) -> None:
        if event.kind == "joined":
            raise what("in on_event")

    with Proxy(group, "one", on_event=listen) as proxy, pytest.raises(what, match="on_event"):
        join("two", "two", expected=[proxy.name])
        while True:
            proxy.receive_once(PATIENCE)
