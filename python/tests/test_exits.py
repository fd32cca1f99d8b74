"""Ctrl-C and sys.exit() reach who called."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import PATIENCE, Join
from crowded import crowded

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


class RaisesWhenHashed:
    what: type[BaseException] | None = None

    def __hash__(self) -> int:
        if self.what is not None:
            raise self.what("while it was hashed")
        return 0


@pytest.mark.parametrize("what", EXITS)
def test_an_exit_leaves_a_key_that_is_read(
    join: Join, what: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = join("one", "a")
    b = join("two", "b", expected=["a"], accepts_pickles=True)
    a.wait_for_peers(["b"], PATIENCE)
    a.isend("x", "b", {RaisesWhenHashed(): 1}, NOTE)
    monkeypatch.setattr(RaisesWhenHashed, "what", what)
    with pytest.raises(what, match="hashed"):
        b.receive_once(PATIENCE)


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


Interrupt = Callable[[Callable[[], object]], None]


@pytest.fixture
def interrupt() -> Iterator[Interrupt]:
    """Ctrl-C soon, while a call waits, after something else that happens in the same moment."""
    earlier = signal.getsignal(signal.SIGINT)

    def soon(first: Callable[[], object]) -> None:
        def on_signal(*_: object) -> None:
            first()
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, on_signal)
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

    yield soon
    signal.signal(signal.SIGINT, earlier)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline


def test_ctrl_c_is_raised_though_an_event_is_told_first(join: Join, interrupt: Interrupt) -> None:
    told: list[str] = []
    a = join("one", "a", on_event=lambda event: told.append(event.kind))
    b = join("two", "b", expected=["a"])
    a.wait_for_peers(["b"], PATIENCE)

    def leave() -> None:
        b.leave(PATIENCE)
        until(lambda: (peer := a.peer("b")) and peer.presence == "left")

    interrupt(leave)
    with pytest.raises(KeyboardInterrupt):
        a.receive_once(PATIENCE)
    assert told == ["joined", "left"]


def test_ctrl_c_is_raised_though_what_was_waited_for_is_there(
    join: Join, interrupt: Interrupt
) -> None:
    a = join("one", "a")

    def come() -> None:
        join("two", "b", expected=["a"])
        until(lambda: a.has_peers(["b"]))

    interrupt(come)
    with pytest.raises(KeyboardInterrupt):
        a.wait_for_peers(["b"], PATIENCE)


def test_ctrl_c_ends_a_launch_that_cannot_tell_of_a_failure(
    join: Join, interrupt: Interrupt
) -> None:
    a, b, _ = crowded(join)
    begin = time.monotonic()
    told: list[float] = []

    def on_task(local: object, proxy: Proxy, messages: object) -> None:
        interrupt(lambda: None)
        raise ValueError

    def report(*_: object) -> None:
        told.append(time.monotonic() - begin)

    component: Any = muster.dist(a, {"task": on_task}, report=report)(object)()
    b.isend("task", "a")
    with pytest.raises(KeyboardInterrupt):
        component.launch(timeout=PATIENCE / 3)


def test_ctrl_c_ends_a_launch_whose_pool_is_never_idle(join: Join) -> None:
    worker = join("worker", "worker")
    master = join("master", "master", expected=["worker"])
    worker.wait_for_peers(["master"], PATIENCE)
    handled = itertools.count(1)
    many = 50_000  # It is asked for 20 times per second.

    def go_on(local: object, proxy: Proxy, messages: object) -> None:
        number = next(handled)
        if number == 100:
            os.kill(os.getpid(), signal.SIGINT)
        if number < many:
            master.isend("go_on", "worker", None, NOTE)

    for _ in range(4):
        master.isend("go_on", "worker", None, NOTE)
    component: Any = muster.dist(worker, {"go_on": go_on}, pool=2)(object)()
    with pytest.raises(KeyboardInterrupt):
        component.launch(timeout=PATIENCE)
    assert next(handled) < many


def test_an_exit_leaves_a_handler_that_has_tried_to_launch(join: Join) -> None:
    worker = join("worker", "worker")
    master = join("master", "master", expected=["worker"])
    worker.wait_for_peers(["master"], PATIENCE)

    def on_task(local: object, proxy: Proxy, messages: object) -> None:
        with pytest.raises(muster.InvalidError, match="runs already"):
            component.launch()
        raise SystemExit

    component: Any = muster.dist(worker, {"task": on_task}, report=lambda *_: None)(object)()
    master.isend("task", "worker")
    begin = time.monotonic()
    with pytest.raises(SystemExit):
        component.launch(timeout=PATIENCE)
    assert time.monotonic() - begin < PATIENCE / 2
