"""MARO's decorator, its tables of live peers, and components of other kinds beside it."""

import dataclasses
import threading
from typing import Any

import pytest
from maro_group import LONG, Group, maro_group, until

import muster
from muster.compat.maro import (
    DriverReceiveError,
    Message,
    Proxy,
    RegisterTable,
    SessionMessage,
    dist,
)

__all__ = ["maro_group"]


class Counter:
    """Counts."""

    limit = 3

    def __init__(self, start: int = 0) -> None:
        self.count = start


def on_add(that: Any, proxy: Proxy, message: Any) -> None:
    that.count += message.body["by"]  # As in 0.1: a message, and since then a list of one.
    proxy.reply(message, body={"count": that.count})


def on_stop(that: Any, proxy: Proxy, messages: list[Message]) -> None:
    proxy.reply(messages[0])
    raise muster.Stop


def test_a_class_becomes_a_component_and_stays_what_it_was(group: Group) -> None:
    master, worker = group.pair()
    handlers = {"master:add:1": on_add, "master:stop:1": on_stop}
    distributed: Any = dist(worker, handlers)(Counter)
    assert (distributed.__name__, distributed.__doc__) == ("Counter", "Counts.")
    assert distributed.limit == 3
    counter: Any = distributed(start=5)
    assert isinstance(distributed(), Counter)
    counter.count += 1
    running = group.run(counter.launch)

    def ask(tag: str, body: Any = None) -> Any:
        return master.send(SessionMessage(tag, master.name, worker.name, body), LONG)

    assert ask("add", {"by": 2})[0].body == {"count": 8}
    with pytest.raises(DriverReceiveError, match="KeyError"):
        ask("add", {})
    assert ask("add", {"by": 1})[0].body == {"count": 9}
    ask("stop")
    running.result()
    assert counter.count == 9


def test_any_class_will_do(group: Group) -> None:
    _, worker = group.pair()

    @dist(worker, {})
    @dataclasses.dataclass(frozen=True, slots=True)
    class Frozen:
        x: int
        _proxy: str = "its own"

    @dist(worker, {})
    class Busy:
        def stop(self) -> str:
            return "not the component's"

    frozen: Any = Frozen(3)
    assert (frozen.x, frozen._proxy, frozen.proxy) == (3, "its own", worker)
    assert frozen == Frozen(3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        frozen.x = 4
    busy: Any = Busy()
    assert busy.local_instance.stop() == "not the component's"
    with pytest.raises(AttributeError, match="local_instance.launch is your own"):
        busy.launch = print


class Thread(threading.Thread):
    """Has methods and attributes of the names that a component has, or had."""

    def stop(self) -> str:
        return "its own"

    def launch(self) -> str:
        return "its own, too"


def test_a_handler_gets_the_object_itself(group: Group) -> None:
    master, worker = group.pair()
    got: list[Any] = []

    def on_task(that: Any, proxy: Proxy, messages: list[Message]) -> None:
        got.extend([that, that.stop(), that.launch()])
        that.start()
        that.join()
        raise muster.Stop

    component: Any = dist(worker, {"master:task:1": on_task})(Thread)()
    master.isend(SessionMessage("task", master.name, worker.name))
    group.run(component.launch).result(30)
    assert got == [component.local_instance, "its own", "its own, too"]
    assert type(got[0]) is Thread and not got[0].is_alive()


def test_a_stop_ends_one_launch_also_if_it_comes_first(group: Group) -> None:
    master, worker = group.pair()
    distributed: Any = dist(worker, {"master:stop:1": on_stop})(Counter)
    component = distributed()
    component.stop()
    group.run(component.launch).result(30)
    running = group.run(component.launch)
    assert master.send(SessionMessage("stop", master.name, worker.name), LONG)
    running.result(30)


def test_a_percentage_is_met_when_somebody_leaves(group: Group) -> None:
    master, workers = group.crew(3)
    seen: list[int] = []

    def on_all(that: Any, proxy: Proxy, messages: list[Message]) -> None:
        seen.append(len(messages))
        component.stop()

    component: Any = dist(master, {"worker:done:100%": on_all})(Counter)()
    running = group.run(component.launch)
    for worker in workers[:2]:
        worker.isend(SessionMessage("done", worker.name, master.name))
    workers[2].close()
    running.result(30)
    assert seen == [2]


def test_a_table_of_a_proxys_peers_follows_them(group: Group) -> None:
    master, workers = group.crew(3)
    table = RegisterTable(master.peers)
    table.register_event_handler("worker:done:100%", len)
    for worker in workers[:2]:
        assert table.push(SessionMessage("done", worker.name, master.name)) is None
    workers[2].close()
    until(lambda: len(master.peers["worker"]) == 2)
    assert [len(messages) for _, messages in table.get()] == [2]


def test_a_component_that_speaks_muster_itself_is_answered_in_its_words(group: Group) -> None:
    waiting = group.start("worker", {"native": 1})
    with muster.Proxy(group.name, "native", name="native", expected={"worker": 1}) as native:
        worker = waiting.result(30)
        future = native.request("t", worker.name, {"plain": [1, 2]})
        message = worker.receive_once(LONG)
        assert message is not None and message.body == {"plain": [1, 2]}
        worker.reply(message, body="heard")
        assert future.result(timeout=20).body == "heard"
        future = native.request("t", worker.name, {"maro": b"no pickle"})
        assert worker.receive_once(100) is None
        with pytest.raises(muster.Error):
            future.result(timeout=20)
