"""What is done for each of a mass of messages takes short ways; they lead to the same end."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, Join

import muster
from muster import Id, Message, Priority, Proxy, SessionType

Pair = tuple[Proxy, Proxy]
NOTE = SessionType.NOTIFICATION


def received(proxy: Proxy) -> Message:
    message = proxy.receive_once(PATIENCE)
    assert message is not None
    return message


@pytest.mark.parametrize(
    ("by_position", "by_name"),
    [
        (("t", "b", [1], NOTE), {}),
        (("t", "b", [1]), {"session_type": NOTE}),
        (("t",), {"destination": "b", "body": [1], "session_type": NOTE}),
        ((), {"tag": "t", "destination": "b", "body": [1], "session_type": NOTE}),
        (("t", "b", [1], NOTE), {"priority": Priority.URGENT}),
        ((Message("t", "b", [1], session_type=NOTE),), {}),
        ((Message("t", "b", [1]), None, None, NOTE), {}),
    ],
)
def test_isend_takes_its_arguments_in_every_way(
    pair: Pair, by_position: tuple[Any, ...], by_name: dict[str, Any]
) -> None:
    a, b = pair
    session = a.isend(*by_position, **by_name)
    assert isinstance(session, Id) and session
    got = received(b)
    assert (got.tag, got.source, got.body, got.session_type) == ("t", "a", [1], NOTE)
    assert got.session_id == session
    assert got.priority == by_name.get("priority", Priority.NORMAL)


def test_isend_without_a_type_asks_for_a_task(pair: Pair) -> None:
    a, b = pair
    a.isend("t", "b", 1, None)
    assert received(b).session_type == SessionType.TASK


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("t", "nobody", 1, NOTE), muster.NotFoundError),
        (("t", 7, 1, NOTE), muster.InvalidError),
        ((7, "b", 1, NOTE), muster.InvalidError),
        (("t", "b", 1, "task"), TypeError),
        (("t", "b", lambda: None, NOTE), muster.InvalidError),
        (("t", "b", 1, NOTE, 5), TypeError),
        ((), TypeError),
    ],
)
def test_isend_says_what_is_wrong(
    pair: Pair, arguments: tuple[Any, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        pair[0].isend(*arguments)
    with pytest.raises(TypeError):
        pair[0].isend("t", "b", 1, NOTE, colour="red")  # type: ignore[call-overload]


@pytest.mark.filterwarnings("ignore:nanobind")  # It warns of the second.
def test_isend_is_a_method_of_proxies_alone(pair: Pair) -> None:
    with pytest.raises(TypeError):
        Proxy.isend("no proxy", "t", "b", 1, NOTE)  # type: ignore[call-overload]
    with pytest.raises((TypeError, RuntimeError)):
        Proxy.__new__(Proxy).isend("t", "b", 1, NOTE)
    assert list(inspect.signature(Proxy.isend).parameters)[:5] == [
        "self",
        "tag",
        "destination",
        "body",
        "session_type",
    ]


def test_an_iteration_is_an_iterator(pair: Pair) -> None:
    a, b = pair
    messages = iter(b.receive(timeout=0.01))
    assert iter(messages) is messages
    assert next(messages, None) is None
    a.isend("t", "b", 1, NOTE)
    patient = iter(b.receive(PATIENCE))
    assert patient.__next__().body == 1
    with pytest.raises(ValueError):
        iter(b.receive(timeout=math.nan))


def test_an_iteration_ends_with_its_proxy(join: Join) -> None:
    proxy = join("one", "a")
    messages = iter(proxy.receive())
    proxy.leave(timeout=PATIENCE)
    assert list(messages) == []


def test_a_message_knows_how_many_bytes_it_took(pair: Pair) -> None:
    a, b = pair
    a.isend("t", "b", b"x" * 1000, NOTE)
    assert received(b).nbytes == 1000
    a.isend("t", "b", {"array": np.zeros(1000)}, NOTE)
    assert 8000 < received(b).nbytes < 8100
    assert Message("t").nbytes == 0
