"""MARO's proxy: what is sent, and what comes back."""

import itertools
from enum import Enum
from typing import Any

import numpy as np
import pytest
from maro_group import LONG, Group, echo, maro_group

from muster.compat.maro import (
    Message,
    NotificationSessionStage,
    SessionMessage,
    SessionType,
    TaskSessionStage,
)

__all__ = ["maro_group"]


class Tag(Enum):
    SUM = "sum"


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


@pytest.mark.parametrize(
    ("kind", "stage"), [(SessionType.NOTIFICATION, NotificationSessionStage.RECEIVE), (None, None)]
)
def test_what_is_no_task_is_answered_by_an_acknowledgement(
    group: Group, kind: SessionType | None, stage: NotificationSessionStage | None
) -> None:
    master, worker = group.pair()
    message = Message("t", master.name, worker.name)
    if kind is not None:
        message = SessionMessage("t", master.name, worker.name, session_type=kind)
    ids = master.isend(message)
    worker.reply(worker.receive_once(LONG), body="heard", ack_reply=True)
    replies = master.receive_by_id(ids, LONG)
    assert replies is not None and [reply.body for reply in replies] == ["heard"]
    assert getattr(replies[0], "session_stage", None) is stage


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


def test_a_broadcast_has_a_type_or_none(group: Group) -> None:
    master, workers = group.crew(2)
    running = [group.run(echo, worker, 4) for worker in workers]
    task = SessionType.TASK
    for replies in (
        master.broadcast("t", session_type=task, timeout=LONG),  # To all, as in 0.1.
        master.broadcast("worker", "t", task, timeout=LONG),
        master.broadcast("worker", "t", session_type=task, timeout=LONG),
        master.broadcast("worker", tag="t", session_type=task, timeout=LONG),
    ):
        assert {reply.source for reply in replies} == {worker.name for worker in workers}
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
