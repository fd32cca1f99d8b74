"""A class of the user's, distributed by one line."""

from __future__ import annotations

import dataclasses
import logging
import threading
from typing import Any

import pytest
from conftest import PATIENCE, Join

import muster
from muster import Message, Proxy, SessionType, dist

NOTE = SessionType.NOTIFICATION


class Launched:
    """A component at work in a thread of its own."""

    def __init__(self, component: Any) -> None:
        self.component = component
        self.raised: BaseException | None = None
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        try:
            self.component.launch(PATIENCE)
        except BaseException as raised:
            self.raised = raised

    def end(self) -> None:
        self.component.stop()
        self._thread.join()


def test_a_decorated_class_keeps_what_it_is(join: Join) -> None:
    proxy = join("worker")

    class Base:
        shared = "of the class"

        @staticmethod
        def helper() -> int:
            return 5

    @dist(proxy, {})
    class Worker(Base):
        """Works."""

        def __init__(self, a: int, b: int = 2) -> None:
            self.a, self.b = a, b

        def total(self) -> int:
            return self.a + self.b

        def __len__(self) -> int:
            return self.a

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Worker) and other.a == self.a  # type: ignore[attr-defined]

        __hash__ = None  # type: ignore[assignment]

    worker = Worker(1, b=4)

    assert Worker.__name__ == "Worker"
    assert Worker.__qualname__.endswith("Worker")
    assert Worker.__doc__ == "Works."
    assert Worker.__module__ == __name__
    assert Worker.shared == "of the class" and Worker.helper() == 5  # type: ignore[attr-defined]
    assert isinstance(worker, Worker) and isinstance(worker, Base)
    assert isinstance(worker, Worker.__wrapped__)  # type: ignore[attr-defined]
    assert not isinstance(5, Worker)
    assert worker.total() == 5
    worker.a = 10
    worker.new = "attribute"
    assert (worker.total(), worker.local_instance.a, worker.new) == (14, 10, "attribute")
    del worker.new
    assert not hasattr(worker, "new")
    assert len(worker) == 10
    assert worker == Worker(10) and worker != Worker(11)
    with pytest.raises(TypeError):
        hash(worker)
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = worker.nothing_such


def test_any_class_will_do(join: Join) -> None:
    proxy = join("worker")

    @dist(proxy, {})
    @dataclasses.dataclass(frozen=True, slots=True)
    class Frozen:
        x: int
        _proxy: str = "its own"

    @dist(proxy, {})
    class Busy:
        def stop(self) -> str:
            return "not the component's"

    assert Frozen(3).x == 3
    assert Frozen(3)._proxy == "its own"
    assert Frozen(3) == Frozen(3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Frozen(3).x = 4
    assert Busy().local_instance.stop() == "not the component's"
    with pytest.raises(TypeError):
        Frozen()


def test_a_handler_gets_the_instance_the_proxy_and_the_messages(join: Join) -> None:
    worker_proxy, master = join("worker", "w"), join("master", "m")
    master.wait_for_peers(["w"], PATIENCE)
    got: list[tuple[Any, Proxy, list[Message]]] = []

    def on_sum(local_instance: Any, proxy: Proxy, messages: list[Message]) -> None:
        got.append((local_instance, proxy, messages))
        proxy.reply(messages[0], sum(messages[0].body))

    @dist(worker_proxy, {"master:sum:1": on_sum})
    class Worker:
        pass

    launched = Launched(worker := Worker())
    assert master.send("sum", "w", [1, 2, 3], PATIENCE).body == 6
    launched.end()

    assert got[0][0] is worker.local_instance
    assert got[0][1] is worker_proxy
    assert [message.tag for message in got[0][2]] == ["sum"]
    assert launched.raised is None


def test_what_a_handler_returns_is_the_answer(join: Join) -> None:
    proxy, master = join("worker", "w"), join("master", "m")
    master.wait_for_peers(["w"], PATIENCE)

    @dist(proxy, {"hello": lambda local, proxy, messages: {"hello": messages[0].body}})
    class Worker:
        pass

    launched = Launched(Worker())
    assert master.send("hello", "w", "you", PATIENCE).body == {"hello": "you"}
    launched.end()


def test_conditions_may_be_tuples_and_percentages(join: Join) -> None:
    master = join("master", "m")
    workers = [join("worker", f"w{i}", expected=["m"]) for i in range(2)]
    master.wait_for_peers({"worker": 2}, PATIENCE)
    fired: list[list[str]] = []

    def on_all(local: Any, proxy: Proxy, messages: list[Message]) -> None:
        fired.append(sorted(message.tag for message in messages))
        if len(fired) == 2:
            raise muster.Stop

    handlers = {
        ("w0:a:1", "w1:b:1", "AND"): on_all,
        "worker:rollout:100%": on_all,
    }

    @dist(master, handlers)
    class Learner:
        pass

    workers[0].isend("a", "m", None, NOTE)
    workers[1].isend("b", "m", None, NOTE)
    for worker in workers:
        worker.isend("rollout", "m", None, NOTE)
    Learner().launch(PATIENCE)
    assert sorted(fired) == [["a", "b"], ["rollout", "rollout"]]


def test_a_wrong_condition_is_refused_at_once(join: Join) -> None:
    with pytest.raises(ValueError):
        dist(join("worker"), {"worker:update:0": print})
    with pytest.raises(ValueError, match="AND or OR"):
        dist(join("worker"), {("a:b:1", 5): print})


def test_what_a_handler_raises_is_told_with_its_traceback(
    join: Join, caplog: pytest.LogCaptureFixture
) -> None:
    proxy, master = join("worker", "w"), join("master", "m")
    master.wait_for_peers(["w"], PATIENCE)

    def on_task(local: Any, proxy: Proxy, messages: list[Message]) -> None:
        raise KeyError("deep inside")

    @dist(proxy, {"task": on_task})
    class Worker:
        pass

    launched = Launched(Worker())
    with (
        caplog.at_level(logging.WARNING, logger="muster"),
        pytest.raises(muster.FailedError, match="deep inside") as raised,
    ):
        master.send("task", "w", None, PATIENCE)
    assert 'raise KeyError("deep inside")' in raised.value.remote_traceback
    launched.end()
    assert launched.raised is None
    assert "deep inside" in caplog.text


def test_a_handler_is_not_called_for_what_cannot_be_read(join: Join) -> None:
    proxy, master = join("worker", "w"), join("master", "m", pickler="pickle")
    master.wait_for_peers(["w"], PATIENCE)
    got: list[list[object]] = []

    def on_task(local: Any, proxy: Proxy, messages: list[Message]) -> str:
        got.append([message.body for message in messages])
        return "done"

    def on_stop(local: Any, proxy: Proxy, messages: list[Message]) -> None:
        raise muster.Stop

    @dist(proxy, {"task": on_task, "*:both:2": on_task, "stop": on_stop})
    class Worker:
        pass

    launched = Launched(Worker())
    for tag in ("task", "stop"):
        with pytest.raises(muster.Error, match="pickle"):
            master.send(tag, "w", complex(1, 2), PATIENCE)
    ids = [master.isend("both", "w", body) for body in (complex(1, 2), "plain")]
    replies = master.receive_by_id(ids, PATIENCE)
    assert [message.body for message in replies] == ["done"] and len(replies.failures) == 1
    assert got == [["plain"]]
    launched.end()
    assert launched.raised is None


def test_an_error_can_end_the_component(join: Join) -> None:
    proxy, master = join("worker", "w"), join("master", "m")
    master.wait_for_peers(["w"], PATIENCE)

    def on_task(local: Any, proxy: Proxy, messages: list[Message]) -> None:
        raise ValueError("enough")

    @dist(proxy, {"task": on_task}, stops_on_error=True, report=lambda *_: None)
    class Worker:
        pass

    master.isend("task", "w")
    with pytest.raises(muster.FailedError, match="enough"):
        Worker().launch(PATIENCE)


def test_exits_go_through_a_handler(join: Join) -> None:
    proxy, master = join("worker", "w"), join("master", "m")
    master.wait_for_peers(["w"], PATIENCE)

    def on_task(local: Any, proxy: Proxy, messages: list[Message]) -> None:
        raise SystemExit(3)

    @dist(proxy, {"task": on_task})
    class Worker:
        pass

    master.isend("task", "w")
    with pytest.raises(SystemExit):
        Worker().launch(PATIENCE)


def test_handlers_of_a_pool_run_side_by_side(join: Join) -> None:
    proxy, master = join("worker", "w"), join("master", "m")
    master.wait_for_peers(["w"], PATIENCE)
    together = threading.Barrier(2)

    def on_task(local: Any, proxy: Proxy, messages: list[Message]) -> str:
        together.wait(PATIENCE)
        return threading.current_thread().name

    @dist(proxy, {"task": on_task}, pool=2)
    class Worker:
        pass

    launched = Launched(Worker())
    ids = [master.isend("task", "w") for _ in range(2)]
    assert len(master.receive_by_id(ids, PATIENCE)) == 2
    launched.end()


def test_launch_ends_when_its_time_is_over(join: Join) -> None:
    @dist(join("worker"), {})
    class Worker:
        pass

    with pytest.raises(TimeoutError):
        Worker().launch(0.01)


def test_launch_goes_on_after_its_time_but_not_once_it_was_stopped(join: Join) -> None:
    proxy, master = join("worker", "w"), join("master", "m")
    master.wait_for_peers(["w"], PATIENCE)

    def on_task(local: Any, proxy: Proxy, messages: list[Message]) -> None:
        raise muster.Stop

    component = dist(proxy, {"task": on_task})(object)()
    with pytest.raises(TimeoutError):
        component.launch(0)
    master.isend("task", "w", None, NOTE)
    component.launch(PATIENCE)

    with pytest.raises(muster.InvalidError, match="it was stopped, which is for good"):
        component.launch(PATIENCE)


def test_a_stop_that_comes_before_launch_ends_it(join: Join) -> None:
    component = dist(join("worker"), {})(object)()
    component.stop()

    component.launch(PATIENCE)


def test_an_event_table_by_itself() -> None:
    table = muster.EventTable()
    both = table.add(("a:x:1", "b:y:2", "AND"))
    each = table.add(muster.EventCondition("*:x:1").within(5))

    assert table.push("first", source="a", tag="x") == [(each, ["first"], False)]
    assert table.push("second", source="b", tag="y") == []
    assert table.waiting(both) == 2
    assert table.push("third", source="b", tag="y") == [(both, ["first", "second", "third"], False)]
    assert len(table) == 2
    table.push("fourth", source="b", tag="y")
    assert table.remove(both) == ["fourth"]
    with pytest.raises(LookupError):
        table.remove(both)
    assert str(muster.all_of("a:b:1", muster.any_of("c", "d"))) == "a:b:1 && (*:c:1 || *:d:1)"


def test_attributes_of_the_class_do_not_hide_those_of_an_instance(join: Join) -> None:
    class Counter:
        count = 1

    Counted: Any = dist(join("worker"), {})(Counter)
    one, other = Counted(), Counted()
    Counted.count = 10
    assert (Counted.count, Counter.count, one.count) == (10, 10, 10)
    one.count = 20
    assert (one.count, one.local_instance.count, other.count, Counted.count) == (20, 20, 10, 10)
    del one.count
    assert one.count == 10
    del Counted.count
    assert not hasattr(Counted, "count") and not hasattr(one, "count")


def test_what_the_component_has_of_its_own_is_not_written(join: Join) -> None:
    proxy = join("worker")

    class Worker:
        def launch(self) -> str:
            return "its own"

    component: Any = dist(proxy, {})(Worker)()
    assert component.local_instance.launch() == "its own"
    for name in ("proxy", "launch", "stop", "local_instance", "is_partial"):
        with pytest.raises(AttributeError, match=f"local_instance.{name} is your own"):
            setattr(component, name, "mine")
    component.local_instance.proxy = "mine"
    assert component.proxy is proxy and component.local_instance.proxy == "mine"


def test_what_goes_with_a_dropped_item_may_clear_the_table() -> None:
    table = muster.EventTable(waiting_limit=1)
    table.add(("*:x:1", "c:z:1", "AND"))
    table.add(("*:*:1", "c:z:1", "AND"))

    class Clears:
        def __del__(self) -> None:
            table.clear()

    for tag in ("x", "y", "x"):
        table.push(Clears(), source="a", tag=tag)
    table.clear()
