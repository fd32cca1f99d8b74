"""MARO's sends where the other end does not keep up."""

from typing import Any

import pytest
from maro_group import LONG, Group, maro_group

import muster
from muster.compat.maro import DriverSendError, Message, SessionMessage, ZmqDriver, room

__all__ = ["maro_group"]


class Clock:
    """Goes on only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Full:
    """In the place of an isend() that has no room before its time."""

    def __init__(self, clock: Clock, isend: Any, seconds: float = float("inf")) -> None:
        self._clock, self._isend = clock, isend
        self._until = clock.now + seconds

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._clock.now < self._until:
            raise muster.OverloadedError("send: the queue is full")
        return self._isend(*args, **kwargs)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(room, "time", made)
    return made


def seconds_until_it_raises(clock: Clock, send: Any) -> float:
    begin = clock.now
    with pytest.raises(DriverSendError, match="no room for .* send_timeout"):
        send()
    return clock.now - begin


@pytest.mark.parametrize(
    ("parameters", "seconds"),
    [
        (None, 300),
        ({"send_timeout": -1}, 300),
        ({"send_timeout": 5000}, 5),
        ({"send_timeout": 0}, 0),
    ],
)
def test_a_send_without_room_ends(
    group: Group, clock: Clock, parameters: Any, seconds: float
) -> None:
    master, worker = group.pair(driver_parameters=parameters)
    message = SessionMessage("t", master.name, worker.name)
    master._core.isend = Full(clock, master._core.isend)  # type: ignore[union-attr, method-assign]
    waited = seconds_until_it_raises(clock, lambda: master.isend(message))
    assert waited == pytest.approx(seconds, abs=0.1)


def test_a_send_waits_for_room(group: Group, clock: Clock) -> None:
    master, worker = group.pair()
    core: Any = master._core
    core.isend = Full(clock, core.isend, seconds=200)
    assert master.isend(SessionMessage("t", master.name, worker.name, "late"))
    got = worker.receive_once(20_000)
    assert got is not None and got.body == "late"


class Asked:
    """In the place of a call that waits for room by itself."""

    def __init__(self) -> None:
        self.timeouts: list[float] = []

    def __call__(self, *args: Any, timeout: float | None = None) -> None:
        assert timeout is not None
        self.timeouts.append(timeout)
        raise muster.OverloadedError("answer: the queue is full")


def test_a_receipt_or_a_failure_without_room_ends(group: Group) -> None:
    master, worker = group.pair(driver_parameters={"send_timeout": 7000})
    worker.isend(SessionMessage("t", worker.name, master.name))
    task = master.receive_once(LONG)
    assert task is not None
    core: Any = master._core
    core.acknowledge = core.fail = asked = Asked()
    with pytest.raises(DriverSendError, match="the queue is full"):
        master.reply(task, ack_reply=True)
    master._tell_failure(task, ValueError("of a handler"))
    master._mailbox._refuse(task._received, "there is no room")
    assert asked.timeouts == [7, 7, 7]


def test_a_driver_by_itself_waits_as_long(clock: Clock) -> None:
    first, second = ZmqDriver("sender", send_timeout=2000), ZmqDriver("receiver")
    first.connect({"r": second.address})
    core: Any = first._core
    core.isend = Full(clock, core.isend)
    waited = seconds_until_it_raises(clock, lambda: first.send(Message("t", "s", "r")))
    assert waited == pytest.approx(2, abs=0.1)
    first.close()
    second.close()
