"""Arrays between two components, and whose memory they are."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, Join

import muster
from muster import Proxy, SessionType, _core

Pair = tuple[Proxy, Proxy]
NOTE = SessionType.NOTIFICATION
LARGE = 1 << 18  # Of float64: above all thresholds.


def received(proxy: Proxy) -> muster.Message:
    message = proxy.receive_once(PATIENCE)
    assert message is not None
    return message


def address(array: np.ndarray) -> int:  # type: ignore[type-arg]
    return int(array.__array_interface__["data"][0])


def test_each_part_of_an_array_is_frozen_by_sending_it(pair: Pair) -> None:
    a, b = pair
    whole = muster.empty((2, LARGE))
    first, second = whole[0], whole[1]
    first[:] = 1
    a.isend("x", "b", first, NOTE)
    second[:] = 2  # It was not sent yet.
    a.isend("x", "b", second, NOTE)

    with pytest.raises(ValueError, match="read-only"):
        second[:] = 99

    received(b)
    assert (received(b).body == 2).all()


def test_replies_that_came_are_given_though_somebody_still_reads(join: Join) -> None:
    a, b, c = join("one", "a"), join("two", "b"), join("two", "c")
    a.wait_for_peers({"two": 2}, PATIENCE)

    def answer() -> None:
        b.reply(received(b), "done")

    thread = threading.Thread(target=answer)
    thread.start()
    replies = a.scatter("task", {"b": np.ones(LARGE), "c": np.ones(LARGE)}, timeout=0.5)
    thread.join()

    assert [message.body for message in replies.messages] == ["done"]
    assert received(c).body[0] == 1


def test_an_array_of_the_arena_is_frozen_by_sending_it(pair: Pair) -> None:
    a, b = pair
    weights = muster.empty((512, 512))
    weights[:] = 7
    row = weights[3]

    a.isend("weights", "b", {"w": weights}, NOTE)

    assert not weights.flags.writeable
    with pytest.raises(ValueError):
        weights.flags.writeable = True
    got = received(b).body["w"]
    assert got.shape == (512, 512) and (got == 7).all()
    assert row.sum() == 7 * 512


def test_what_was_made_of_an_array_before_it_was_sent_stays_as_it_was(pair: Pair) -> None:
    weights = muster.empty((4, LARGE))
    before, seen = weights[0], memoryview(weights)
    pair[0].isend("weights", "b", weights[1], NOTE)
    assert not weights.flags.writeable and not weights[0].flags.writeable
    assert memoryview(weights).readonly
    assert before.flags.writeable and not seen.readonly
    strided = muster.empty((4, LARGE))
    pair[0].isend("weights", "b", strided[:, ::2], NOTE)
    assert strided.flags.writeable


def test_an_array_that_was_not_sent_is_writable_again(pair: Pair) -> None:
    a, b = pair
    first, other = muster.empty(LARGE), muster.empty((2, LARGE))
    row = other[1]
    wrong: list[Callable[[], object]] = [
        lambda: a.isend("x", "nobody", first, NOTE),
        lambda: a.isend("x", "nobody", {"a": first, "b": row}, timeout=1),
        lambda: a.isend("x", "b", [first, row, lambda: None], NOTE),
        lambda: a.send("x", "b", [first, row, lambda: None], timeout=PATIENCE),
        lambda: a.request("x", "b", first, session_id="none"),
        lambda: a.scatter("x", [("b", first), ("b", row), ("b",)]),  # type: ignore[list-item]
    ]
    for call in wrong:
        with pytest.raises((muster.InvalidError, muster.NotFoundError)):
            call()
        first[:] = 3
        row[:] = 4
        assert other.flags.writeable
    a.isend("x", "b", [first, row], NOTE)
    assert not (first.flags.writeable or row.flags.writeable or other.flags.writeable)
    with pytest.raises(muster.NotFoundError):
        a.isend("x", "nobody", first, NOTE)
    assert not first.flags.writeable  # It was sent before.
    got = received(b).body
    assert (got[0] == 3).all() and (got[1] == 4).all()


@pytest.mark.parametrize("dtype", ["datetime64[s]", "i4,f8", "S8"])
def test_a_part_of_an_array_of_any_type_is_frozen_by_sending_it(pair: Pair, dtype: str) -> None:
    a, b = pair
    weights = muster.empty(LARGE, dtype)
    weights[:] = np.zeros(LARGE, dtype)
    part = weights[2:]
    with pytest.raises(muster.NotFoundError):
        a.isend("x", "nobody", part, NOTE)
    assert part.flags.writeable and weights.flags.writeable
    a.isend("x", "b", part, NOTE)
    assert not (part.flags.writeable or weights.flags.writeable)
    assert (received(b).body == part).all()


def test_an_array_of_the_arena_is_read_where_it_lies(pair: Pair) -> None:
    a, b = pair
    weights = muster.empty(LARGE)
    weights[:] = 1
    a.isend("weights", "b", weights, NOTE)

    got = received(b).body
    # Against the rules, to show that it is the same memory.
    ctypes_view = np.ctypeslib.as_array(
        (np.ctypeslib.ctypes.c_double * LARGE).from_address(address(weights))
    )
    ctypes_view[5] = 42
    assert got[5] == 42


def test_a_received_array_is_read_only_and_outlives_all_else(group: str) -> None:
    with (
        Proxy(group, "one", "a") as a,
        Proxy(group, "two", "b", expected=["a"], timeout=PATIENCE) as b,
    ):
        a.wait_for_peers(["b"], PATIENCE)
        weights = muster.empty(LARGE)
        weights[:] = 3
        a.isend("weights", "b", weights, NOTE)
        got = received(b).body
    del weights, a, b
    gc.collect()
    assert not got.flags.writeable
    with pytest.raises(ValueError):
        got[0] = 1
    with pytest.raises(ValueError):
        got.flags.writeable = True
    assert (got == 3).all()
    mine = got.copy()
    mine[0] = 1


def test_memory_of_the_arena_is_used_again(pair: Pair) -> None:
    a, b = pair
    seen = set()
    for i in range(20):
        weights = muster.empty(LARGE)
        seen.add(address(weights))
        weights[:] = i
        a.isend("weights", "b", weights, NOTE)
        del weights
        assert received(b).body[0] == i
    assert len(seen) < 20


def test_isend_copies_what_is_not_in_the_arena(pair: Pair) -> None:
    a, b = pair
    for size in (10, LARGE):
        mine = np.zeros(size)
        a.isend("x", "b", mine, NOTE)
        mine[:] = 1
        assert (received(b).body == 0).all()
        assert mine.flags.writeable


def test_a_loan_is_over_when_its_future_is_done(pair: Pair) -> None:
    a, b = pair
    mine = np.full(LARGE, 2.0)
    loan = a.isend("x", "b", mine, NOTE, borrow=True)
    got = received(b).body
    loan.result(PATIENCE)
    assert loan.done()
    mine[:] = 9
    assert (got == 2).all()


def test_send_and_reply_return_when_the_memory_is_the_callers_again(pair: Pair) -> None:
    a, b = pair

    def serve() -> None:
        message = received(b)
        answer = message.body * 2
        b.reply(message, answer, timeout=PATIENCE)
        answer[:] = -1

    thread = threading.Thread(target=serve)
    thread.start()
    mine = np.full(LARGE, 4.0)
    answer = a.send("double", "b", mine, PATIENCE)
    mine[:] = -1
    thread.join()
    assert (answer.body == 8).all()


def test_one_broadcast_body_serves_all(join: Join) -> None:
    master = join("master", "m")
    workers = [join("worker", f"w{i}", expected=["m"]) for i in range(3)]
    master.wait_for_peers({"worker": 3}, PATIENCE)
    weights = muster.empty(LARGE, "f8")
    weights[:] = 5
    master.ibroadcast("weights", "worker", weights, session_type=NOTE)
    for worker in workers:
        assert (received(worker).body == 5).all()


def test_what_came_can_be_sent_on(join: Join) -> None:
    a, b, c = join("one", "a"), join("two", "b"), join("three", "c")
    a.wait_for_peers(["b"], PATIENCE)
    b.wait_for_peers(["c"], PATIENCE)
    a.isend("x", "b", np.full(LARGE, 6.0), NOTE)
    b.isend("x", "c", received(b).body, NOTE)
    assert (received(c).body == 6).all()


def test_small_arrays_are_as_welcome_as_large_ones(pair: Pair) -> None:
    a, b = pair
    rollout = [{"obs": np.arange(4.0) + i, "reward": float(i)} for i in range(50)]
    a.isend("rollout", "b", rollout, NOTE)
    got = received(b).body
    assert [step["reward"] for step in got] == [float(i) for i in range(50)]
    np.testing.assert_array_equal(got[7]["obs"], np.arange(4.0) + 7)


def test_empty_takes_what_numpy_takes() -> None:
    assert muster.empty(3).shape == (3,)
    assert muster.empty((), "i4").shape == ()
    assert muster.empty((0, 4)).size == 0
    assert muster.empty([2, 2], np.float32).dtype == np.float32
    with pytest.raises(ValueError):
        muster.empty(-1)
    with pytest.raises(ValueError):
        muster.empty(1, object)


PEER = """
import sys
import numpy as np
import muster
from muster import Proxy
with Proxy(sys.argv[1], "peer", "peer", expected=["main"], timeout=30) as proxy:
    message = proxy.receive_once(30)
    assert not message.body["x"].flags.writeable
    proxy.reply(message, {"sum": float(message.body["x"].sum()), "twice": message.body["x"] * 2})
    proxy.receive_once(30)
"""


def test_arrays_travel_between_processes(join: Join, group: str) -> None:
    main = join("main", "main")
    child = subprocess.Popen([sys.executable, "-c", PEER, group], env=os.environ)
    main.wait_for_peers(["peer"], PATIENCE)
    for array in (np.arange(float(LARGE)), muster.empty(LARGE)):
        if array.flags.owndata:
            answer = main.send("sum", "peer", {"x": array}, PATIENCE)
            assert answer.body["sum"] == array.sum()
            np.testing.assert_array_equal(answer.body["twice"], array * 2)
    main.isend("stop", "peer", None, NOTE)
    assert child.wait(PATIENCE) == 0


@pytest.mark.parametrize("name", [">f8", ">i4", ">u2", ">c16", ">f2"])
def test_numbers_of_another_byte_order_become_those_that_all_read(name: str) -> None:
    array = np.array([1, 2, 3], name)
    form, parts = _core.encode(array)
    plain = np.array([1, 2, 3], array.dtype.newbyteorder("<"))
    assert [bytes(part) for part in _core.encode(plain)[1]] == [bytes(part) for part in parts]
    back = _core.decode(form, [bytes(part) for part in parts])
    assert back.dtype == plain.dtype and (back == array).all()


ODD_DTYPES: list[Any] = [
    {"names": ["a", "b"], "formats": ["<i4", "<f8"], "offsets": [8, 0], "itemsize": 16},
    {"names": ["a", "b"], "formats": ["<i4", ">u2"], "offsets": [0, 2], "itemsize": 4},
    {"names": ["a", "b"], "formats": [("<i4", (2, 2)), "U2"], "offsets": [8, 0], "itemsize": 32},
    [("first", {"names": ["x", "y"], "formats": ["u1", "u1"], "offsets": [1, 0]}), ("then", "<f4")],
]


@pytest.mark.parametrize("said", ODD_DTYPES, ids=range(len(ODD_DTYPES)))
def test_fields_may_lie_in_any_order_and_overlap(said: Any) -> None:
    dtype = np.dtype(said)
    array = np.frombuffer(bytes(range(3 * dtype.itemsize)), "u1").view(dtype)
    form, parts = _core.encode({"array": array})
    back = _core.decode(form, [bytes(part) for part in parts])["array"]
    assert back.dtype == dtype and back.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "said",
    [
        "{'names': ['a'], 'formats': ['O'], 'offsets': [0], 'itemsize': 8}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [-4], 'itemsize': 8}",
        "{'names': ['a'], 'formats': ['<i4'], 'offsets': [8], 'itemsize': 8}",
        "{'names': ['a']}",
    ],
)
def test_a_description_that_cannot_be_is_refused(said: str) -> None:
    from muster._arrays import restore

    with pytest.raises((ValueError, KeyError, TypeError)):
        restore(said, (1,), muster.empty(8, "u1").base)  # type: ignore[arg-type]
