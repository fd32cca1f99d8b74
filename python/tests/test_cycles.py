"""What refers to itself by way of C++ is collected as all else is."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from conftest import PATIENCE, Join
from ranks import RANKS, run_ranks

import muster
from muster import Message, Proxy, ProxyEvent, SessionType, dist

NOTE = SessionType.NOTIFICATION


class Witness:
    """Goes when what has it goes."""


def is_collected(make: Callable[[Witness], None]) -> bool:
    """Whether all goes that `make` makes and drops, in circles or not."""
    witness = Witness()
    gone = weakref.ref(witness)
    make(witness)
    del witness
    gc.collect()
    return gone() is None


def test_a_proxy_that_its_listener_knows_is_collected_and_leaves(join: Join, group: str) -> None:
    other = join("other", "other")

    def make(witness: Witness) -> None:
        def listen(event: ProxyEvent) -> None:
            told.append((proxy.name, event.kind, witness))

        told: list[Any] = []
        proxy = Proxy(group, "one", "one", on_event=listen, expected=["other"], timeout=PATIENCE)
        gc.collect()  # It is in use: nothing of it goes.
        while ("one", "joined", witness) not in told:
            proxy.receive_once(0.01)
        other.wait_for_peers(["one"], PATIENCE)

    assert is_collected(make)
    kinds: list[str] = []
    while "left" not in kinds:
        event = other.next_event(PATIENCE)
        assert event is not None
        kinds.append(event.kind if event.peer == "one" else "")


def test_a_listener_goes_with_its_proxy(group: str) -> None:
    class Listener:
        def __call__(self, event: ProxyEvent) -> None: ...

    listener = Listener()
    gone = weakref.ref(listener)
    proxy = Proxy(group, "one", on_event=listener)
    del listener
    assert gone() is not None
    del proxy
    assert gone() is None


def test_a_proxy_that_its_pickler_knows_is_collected(group: str) -> None:
    class Pickler:
        def dumps(self, *args: object, **kwargs: object) -> bytes:
            return b""

    def make(witness: Witness) -> None:
        pickler: Any = Pickler()
        pickler.proxy = Proxy(group, "one", pickler=pickler)
        pickler.witness = witness

    assert is_collected(make)


@pytest.mark.parametrize("what", ["future", "answer", "iterator"])
def test_a_proxy_that_keeps_what_it_gave_is_collected(pair: Any, group: str, what: str) -> None:
    a, _ = pair

    def make(witness: Witness) -> None:
        proxy: Any = Proxy(group, "third", expected=["a"], timeout=PATIENCE)
        proxy.witness = witness
        a.wait_for_peers([proxy.name], PATIENCE)
        if what == "iterator":
            proxy.kept = iter(proxy.receive())
            return
        proxy.kept = proxy.request("sum", "a", [1, 2])
        if what == "answer":
            request = a.receive_once(PATIENCE)
            a.reply(request, [])
            proxy.kept.result(PATIENCE).body.append(proxy.kept)

    assert is_collected(make)


def test_a_message_that_its_body_knows_is_collected(pair: Any) -> None:
    a, b = pair

    def make(witness: Witness) -> None:
        a.isend("x", "b", {"y": []}, NOTE)
        message = b.receive_once(PATIENCE)
        message.body["message"] = message
        message.body["witness"] = witness

    assert is_collected(make)


@pytest.mark.parametrize("who", ["handler", "report", "instance"])
def test_a_component_that_somebody_of_its_own_knows_is_collected(group: str, who: str) -> None:
    def make(witness: Witness) -> None:
        known: list[Any] = [witness]

        def handler(instance: Any, proxy: Proxy, messages: list[Message]) -> None:
            known.append(messages)

        def report(event: int, why: str, messages: list[Message]) -> None:
            known.append(why)

        class Worker:
            pass

        worker: Any = dist(
            Proxy(group, "worker"),
            {"x": handler if who == "handler" else lambda *_: None},
            report=report if who == "report" else None,
        )(Worker)()
        if who == "instance":
            worker.itself, worker.witness = worker, witness
        known.append(worker)

    assert is_collected(make)


def test_handlers_are_called_after_a_collection(join: Join) -> None:
    proxy, other = join("worker", "w"), join("other", "o", expected=["w"])
    done: list[Any] = []

    def on_x(instance: Any, proxy: Proxy, messages: list[Message]) -> None:
        done.append(worker)
        raise muster.Stop

    @dist(proxy, {"x": on_x})
    class Worker:
        pass

    worker = Worker()
    gc.collect()
    proxy.wait_for_peers(["o"], PATIENCE)
    other.isend("x", "w", None, NOTE)
    worker.launch(PATIENCE)
    assert done == [worker]


def test_an_event_table_that_waits_for_itself_is_collected() -> None:
    def make(witness: Witness) -> None:
        table = muster.EventTable()
        table.add("a:x:2")
        table.push([table, witness], source="a", tag="x")

    assert is_collected(make)


def test_an_operation_that_raised_where_it_is_known_is_collected(group: str) -> None:
    program = """
        import weakref
        class Witness: pass
        def fails(left, right):
            raise KeyError("mine")
        def work(witness):
            operation = all.iall_reduce(np.ones(3), reduction=fails)
            try:
                operation.result(30)
            except (KeyError, muster.FailedError):
                pass
        witness = Witness()
        gone = weakref.ref(witness)
        work(witness)
        del witness
        all.barrier()
        gc.collect()
        print(gone() is None)
        """
    assert run_ranks(group, program) == ["True"] * RANKS
