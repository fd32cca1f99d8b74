"""What is no name, no number, no word of ours: an error that says which and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, Join

import muster
from muster import InvalidError, Proxy

Pair = tuple[Proxy, Proxy]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"group": 5}, "group is a str"),
        ({"name": 5}, "name is a str"),
        ({"group": "\udcff"}, "group is no text"),
        ({"expected": {"x": -1}}, "number of expected peers is 0 or more"),
        ({"expected": [("x", 1, 2)]}, "an expected peer is a pair"),
        ({"max_waiting": -1}, "max_waiting is 0 or more"),
        ({"max_queued": "x"}, "max_queued is a whole number"),
        ({"lease": "x"}, "lease is a number of seconds"),
        ({"beat": float("nan")}, "beat is 0 seconds or more"),
        ({"listen": [5]}, "each of listen is a str"),
        ({"listen": "shm://*"}, "listen is a list"),
        ({"expected": "worker"}, "what is expected is a dict or a list"),
        ({"on_event": 5}, "on_event is called"),
    ],
)
def test_a_proxy_says_which_option_is_wrong(group: str, said: Any, names: str) -> None:
    with pytest.raises(InvalidError, match=names):
        Proxy(**{"group": group, "type": "a", **said})


@pytest.mark.parametrize("word", ["session_type", "priority", "compression", "on_loss", "answers"])
def test_a_word_that_is_none_is_refused(pair: Pair, word: str) -> None:
    for wrong in (99, -1, 1 << 70):
        with pytest.raises(InvalidError, match="there is no such muster"):
            pair[0].isend("x", "b", 1, **{word: wrong})
    with pytest.raises(TypeError, match="is wanted here, not 'task'"):
        pair[0].isend("x", "b", 1, **{word: "task"})
    with pytest.raises(InvalidError, match="there is no such muster.SessionType: 99"):
        pair[0].isend("x", "b", 1, 99)  # type: ignore[call-overload]


def test_a_message_goes_somewhere(pair: Pair) -> None:
    a = pair[0]
    with pytest.raises(InvalidError, match="a destination is a str, not a NoneType"):
        a.send("x", timeout=1)
    with pytest.raises(InvalidError, match="say one"):
        a.isend(muster.Message("x"))
    with pytest.raises(InvalidError, match="each of the bodies is a pair"):
        a.scatter("x", [("b",)], timeout=1)  # type: ignore[list-item]


def test_one_name_is_no_list_of_names(pair: Pair) -> None:
    a = pair[0]
    for call in (a.has_peers, a.wait_for_peers):
        with pytest.raises(InvalidError, match="a dict or a list, not a str"):
            call("b")
    with pytest.raises(InvalidError, match="a list of names"):
        muster.Communicator.over(a, "c", "ab", timeout=0)


def test_a_handler_can_be_called(pair: Pair) -> None:
    handlers: Any = {"x:y:1": 5}
    with pytest.raises(InvalidError, match="the handler of x:y:1 cannot be called: 5"):
        muster.dist(pair[0], handlers)


@pytest.mark.parametrize("wrong", [-1, 100_000, 1 << 70])
def test_a_pool_has_a_reasonable_number_of_threads(pair: Pair, wrong: int) -> None:
    with pytest.raises(InvalidError, match="from 0 to 1024"):
        muster.dist(pair[0], {}, pool=wrong)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf"), 1e30])
def test_times_and_shares_are_within_reason(pair: Pair, wrong: float) -> None:
    a = pair[0]
    session = a.isend("x", "b")
    with pytest.raises(InvalidError, match="fraction is from 0 to 1"):
        a.collect([session], fraction=wrong, timeout=0)
    if not wrong > 0:
        with pytest.raises(InvalidError, match="grace is 0 seconds or more"):
            a.collect([session], grace=wrong, timeout=0)
    with pytest.raises(InvalidError, match="a time is a number of seconds"):
        muster.EventCondition("a:x:1").within(wrong)
    with pytest.raises(InvalidError, match="a time is a number of seconds"):
        muster.EventTable().advance(wrong)
    assert a.cancel(session)


def test_an_error_may_be_made_of_anything() -> None:
    assert str(muster.InvalidError(5)) == "5"  # type: ignore[arg-type]


def test_a_shape_is_of_any_integers() -> None:
    assert muster.empty(np.int64(4)).shape == (4,)
    assert muster.empty((np.int8(2), 3)).shape == (2, 3)
    with pytest.raises(TypeError):
        muster.empty(2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="too large"):
        muster.empty((1 << 40, 1 << 40))


def test_what_a_handler_raises_may_hold_any_text(join: Join) -> None:
    def fail(local: object, proxy: Proxy, messages: object) -> None:
        raise ValueError("odd \udcff text \0 with all")

    worker = join("worker", "worker")
    master = join("master", "master", expected=["worker"])
    worker.wait_for_peers(["master"], PATIENCE)
    component: Any = muster.dist(worker, {"x": fail}, stops_on_error=True)(object)()
    future = master.request("x", "worker")
    with pytest.raises(muster.FailedError):
        component.launch(timeout=PATIENCE)
    with pytest.raises(muster.FailedError, match=r"odd \\udcff text \0 with all"):
        future.result(PATIENCE)
