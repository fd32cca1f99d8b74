"""MARO's proxy: two or more in one process, each made in a thread of its own."""

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from typing import Any

import numpy as np
import pytest

import muster
from muster.compat.maro import (
    DriverReceiveError,
    DriverSendError,
    InformationUncompletedError,
    Message,
    NotificationSessionStage,
    PeersMissError,
    PeersRejoinTimeout,
    PendingToSend,
    Proxy,
    RegisterTable,
    SessionMessage,
    SessionType,
    TaskSessionStage,
    ZmqDriver,
    dist,
)

LONG = 20_000  # Milliseconds: longer than anything takes.


class Tag(Enum):
    SUM = "sum"


class Group:
    """Makes proxies that find each other, and closes them."""

    def __init__(self) -> None:
        self.name = f"maro-{uuid.uuid4().hex}"
        self.threads = ThreadPoolExecutor(8)
        self.proxies: list[Proxy] = []

    def start(self, kind: str, peers: dict[str, int], **said: Any) -> "Future[Proxy]":
        return self.threads.submit(self._make, kind, peers, said)

    def _make(self, kind: str, peers: dict[str, int], said: dict[str, Any]) -> Proxy:
        proxy = Proxy(self.name, kind, peers, **said)
        self.proxies.append(proxy)
        return proxy

    def pair(self, **said: Any) -> tuple[Proxy, Proxy]:
        master = self.start("master", {"worker": 1}, **said)
        worker = self.start("worker", {"master": 1})
        return master.result(30), worker.result(30)

    def crew(self, count: int) -> tuple[Proxy, list[Proxy]]:
        master = self.start("master", {"worker": count})
        workers = [self.start("worker", {"master": 1}) for _ in range(count)]
        return master.result(30), [worker.result(30) for worker in workers]

    def run(self, work: Callable[..., Any], *args: Any) -> "Future[Any]":
        return self.threads.submit(work, *args)

    def close(self) -> None:
        for proxy in self.proxies:
            proxy.close()
        self.threads.shutdown()


@pytest.fixture
def group() -> Iterator[Group]:
    made = Group()
    yield made
    made.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def echo(proxy: Proxy, count: int) -> None:
    for _ in range(count):
        message = proxy.receive_once(LONG)
        assert message is not None
        proxy.reply(message, tag="done", body=[proxy.name, message.body])


def test_a_task_is_answered(group: Group) -> None:
    master, worker = group.pair()
    running = group.run(echo, worker, 1)
    task = SessionMessage("sum", master.name, worker.name, [1, 2])
    replies = master.send(task, timeout=LONG)
    running.result()
    assert replies is not None and len(replies) == 1
    reply = replies[0]
    assert (reply.source, reply.tag, reply.body) == (worker.name, "done", [worker.name, [1, 2]])
    assert reply.session_id == task.session_id
    assert reply.session_stage is TaskSessionStage.COMPLETE  # type: ignore[attr-defined]
    assert master.peers == master.peers_name == {"worker": [worker.name]}
    assert worker.get_peers() == [master.name] and worker.get_peer_type(master.name) == "master"


def test_bodies_arrive_as_they_were_and_can_be_written_to(group: Group) -> None:
    master, worker = group.pair()
    body = {1: (2, {3}), "array": np.arange(6.0).reshape(2, 3), "none": None, "rest": ...}
    master.isend(SessionMessage(Tag.SUM, master.name, worker.name, body))
    got = worker.receive_once(LONG)
    assert got is not None
    assert got.tag is Tag.SUM and got.body[1] == (2, {3}) and got.body["rest"] is ...
    got.body["array"][0, 0] = 7
    assert got.body["array"].tolist() == [[7, 1, 2], [3, 4, 5]]


def test_tags_may_be_long_or_empty(group: Group) -> None:
    master, worker = group.pair()
    for tag in ("ä" * 60, ""):
        master.isend(SessionMessage(tag, master.name, worker.name))
        got = worker.receive_once(LONG)
        assert got is not None and got.tag == tag


def test_an_acknowledgement_is_not_a_completion(group: Group) -> None:
    master, worker = group.pair()

    def work() -> None:
        message = worker.receive_once(LONG)
        worker.reply(message, body="taken", ack_reply=True)
        worker.reply(message, body="done")

    running = group.run(work)
    replies = master.send(SessionMessage("t", master.name, worker.name), LONG)
    running.result()
    assert replies is not None and [reply.body for reply in replies] == ["done"]


def test_a_wait_for_a_reply_swallows_nothing_else(group: Group) -> None:
    master, worker = group.pair()

    def work() -> None:
        message = worker.receive_once(LONG)
        worker.isend(SessionMessage("other", worker.name, master.name, "meanwhile"))
        worker.reply(message, body="reply")

    running = group.run(work)
    replies = master.send(SessionMessage("t", master.name, worker.name), LONG)
    running.result()
    assert replies is not None and replies[0].body == "reply"
    other = master.receive_once(LONG)
    assert other is not None and other.body == "meanwhile"


def test_threads_that_wait_for_different_things_get_their_own(group: Group) -> None:
    master, worker = group.pair()
    rounds = 50
    running = group.run(echo, worker, rounds)
    heard = group.run(lambda: [master.receive_once(LONG) for _ in range(rounds)])

    def ask(number: int) -> Any:
        worker.isend(SessionMessage("news", worker.name, master.name, number))
        replies = master.send(SessionMessage("t", master.name, worker.name, number), LONG)
        return replies[0].body[1] if replies else None

    asked = [group.run(ask, number) for number in range(rounds)]
    assert [one.result(30) for one in asked] == list(range(rounds))
    assert sorted(message.body for message in heard.result(30)) == list(range(rounds))
    running.result(30)


def test_replies_that_nobody_waits_for_by_id_come_to_receive(group: Group) -> None:
    master, workers = group.crew(2)
    ids = master.iscatter("t", SessionType.TASK, [(worker.name, 1) for worker in workers])
    for worker in workers:
        echo(worker, 1)
    got = list(itertools.islice(master.receive(timeout=LONG), 2))
    assert {message.source for message in got} == {worker.name for worker in workers}
    assert {message.session_id for message in got} == set(ids)


def test_the_replies_of_a_broadcast_name_their_senders(group: Group) -> None:
    master, workers = group.crew(3)
    running = [group.run(echo, worker, 2) for worker in workers]
    ids = master.ibroadcast("worker", "t", SessionType.NOTIFICATION, body=1)
    assert len(ids) == 3 and len(set(ids)) == 1
    replies = master.receive_by_id(ids, timeout=LONG)
    assert replies is not None
    assert {reply.source for reply in replies} == {worker.name for worker in workers}
    stages = {reply.session_stage for reply in replies}  # type: ignore[attr-defined]
    assert stages == {NotificationSessionStage.RECEIVE}
    assert len(master.broadcast("t", SessionType.TASK, payload=1)) == 3  # As in 0.1: to all.
    for one in running:
        one.result()


def test_scatter_takes_both_names_of_its_list(group: Group) -> None:
    master, workers = group.crew(2)
    running = [group.run(echo, worker, 2) for worker in workers]
    bodies = [(worker.name, index) for index, worker in enumerate(workers)]
    for replies in (
        master.scatter("t", SessionType.TASK, destination_body_list=bodies, timeout=LONG),
        master.scatter("t", SessionType.TASK, destination_payload_list=bodies, timeout=LONG),
    ):
        assert sorted(reply.body[1] for reply in replies) == [0, 1]
    for one in running:
        one.result()


def test_timeouts_are_in_milliseconds_in_all_and_zero_does_not_wait(group: Group) -> None:
    master, worker = group.pair(driver_parameters={"receive_timeout": 30})
    assert master.receive_once(timeout=0) is None
    assert list(master.receive()) == []  # The driver's own.
    ids = master.isend(SessionMessage("t", master.name, worker.name))
    assert master.receive_by_id(ids, timeout=30) == []
    assert master.receive_by_id(1) is None  # type: ignore[arg-type]
    echo(worker, 1)
    assert len(master.receive_by_id(ids, timeout=LONG) or []) == 1


def test_receive_once_more_and_not_continuously(group: Group) -> None:
    master, worker = group.pair()
    for number in range(3):
        master.isend(SessionMessage("t", master.name, worker.name, number))
    assert [message.body for message in worker.receive(is_continuous=False)] == [0]
    assert [message.body for message in worker.receive(False, LONG)] == [1]
    assert worker.receive_once(LONG).body == 2  # type: ignore[union-attr]


def test_a_message_is_forwarded_in_its_session(group: Group) -> None:
    master, (first, second) = group.crew(2)
    ids = master.isend(SessionMessage("t", master.name, first.name, "body"))
    first.forward(first.receive_once(LONG), second.name)
    got = second.receive_once(LONG)
    assert got is not None
    assert (got.source, got.body, [got.session_id]) == (first.name, "body", ids)
    second.reply(got, body="answer")
    answer = first.receive_once(LONG)
    assert answer is not None and answer.body == "answer"


def test_a_message_may_be_answered_twice(group: Group) -> None:
    master, worker = group.pair()
    ids = master.isend(SessionMessage("t", master.name, worker.name))
    message = worker.receive_once(LONG)
    worker.reply(message, body="first")
    worker.reply(message, body="second")
    assert ids is not None
    both = master.receive_by_id(ids * 2, timeout=LONG)
    assert both is not None and [reply.body for reply in both] == ["first", "second"]


def test_an_unknown_destination_is_an_error_that_can_be_caught(group: Group) -> None:
    master, _ = group.pair()
    with pytest.raises(PeersMissError):
        master.isend(SessionMessage("t", master.name, "nobody"))
    with pytest.raises(PeersMissError):
        master.broadcast("nobodies", "t", SessionType.TASK)
    with pytest.raises(PeersMissError):
        master.get_peers("nobodies")


def test_nobody_waits_for_a_peer_that_has_gone(group: Group) -> None:
    master, worker = group.pair()
    ids = master.isend(SessionMessage("t", master.name, worker.name))
    worker.close()
    assert master.receive_by_id(ids, timeout=-1) == []
    until(lambda: master.peers == {"worker": []})
    with pytest.raises(DriverSendError):
        master.send(SessionMessage("t", master.name, worker.name))


@pytest.mark.parametrize("log_enable", [True, False])
def test_errors_become_warnings_where_faults_are_tolerated(
    group: Group, caplog: pytest.LogCaptureFixture, log_enable: bool
) -> None:
    master, _ = group.pair(fault_tolerant=True, log_enable=log_enable)
    assert master.isend(SessionMessage("t", master.name, "nobody")) is None
    assert ("nobody" in caplog.text) == log_enable


def test_with_rejoin_too_few_peers_end_the_job(group: Group) -> None:
    master, worker = group.pair(enable_rejoin=True, timeout_for_minimal_peer_number=0.01)
    worker.close()
    until(lambda: master.peers == {"worker": []})
    with pytest.raises(PeersRejoinTimeout) as caught:
        master.send(SessionMessage("t", master.name, worker.name))
    assert caught.value.error_code == 1013
    assert isinstance(caught.value, SystemExit) and caught.value.code == 65


def test_messages_wait_for_a_peer_that_returns(group: Group, monkeypatch: Any) -> None:
    monkeypatch.setenv("COMPONENT_NAME", "worker_again")
    worker = group.start("worker", {"master": 1})
    master = group.start(
        "master",
        {"worker": 1},
        component_name="master_1",
        enable_rejoin=True,
        enable_message_cache_for_rejoin=True,
    ).result(30)
    worker.result(30).close()
    until(lambda: master.peers == {"worker": []})
    back = group.start("worker", {"master": 1}).result(30)
    assert back.name == "worker_again"
    sent = group.run(master.send, SessionMessage("t", "master_1", "worker_again", "kept"), LONG)
    echo(back, 1)
    assert sent.result(30)[0].body == ["worker_again", "kept"]


def test_peers_that_do_not_come_are_an_error(group: Group) -> None:
    with pytest.raises(InformationUncompletedError, match="master"):
        Proxy(group.name, "worker", {"master": 1}, max_retries=1, base_retry_interval=0.5)


class Counter:
    """Counts."""

    limit = 3

    def __init__(self, start: int = 0) -> None:
        self.count = start


def on_add(that: Any, proxy: Proxy, message: Any) -> None:
    that.count += message.body["by"]  # As in 0.1: a message, and since then a list of one.
    proxy.reply(message, body={"count": that.count})


def on_stop(that: Any, proxy: Proxy, messages: list[Message]) -> None:
    that.stop()
    proxy.reply(messages[0])


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


def test_a_percentage_is_met_when_somebody_leaves(group: Group) -> None:
    master, workers = group.crew(3)
    seen: list[int] = []

    def on_all(that: Any, proxy: Proxy, messages: list[Message]) -> None:
        seen.append(len(messages))
        that.stop()

    distributed: Any = dist(master, {"worker:done:100%": on_all})(Counter)
    component = distributed()
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


def test_a_driver_can_be_used_by_itself() -> None:
    first, second = ZmqDriver("sender"), ZmqDriver("receiver", receive_timeout=LONG)
    first.connect({"receiver_1": second.address})
    first.send(Message("t", "sender_1", "receiver_1", "hello"))
    got = second.receive_once()
    assert got is not None
    assert (got.source, got.destination, got.body) == ("sender_1", "receiver_1", "hello")
    first.broadcast("receiver", Message("t", "sender_1", "*", "all"))
    assert [message.body for message in second.receive(is_continuous=False)] == ["all"]
    assert second.receive_once(timeout=0) is None
    first.disconnect({"receiver_1": second.address})
    with pytest.raises(PendingToSend):
        first.send(Message("t", "sender_1", "receiver_1"))
    first.close()
    second.close()
