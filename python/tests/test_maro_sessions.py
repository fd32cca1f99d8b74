"""MARO's requests that nobody answers: who waits for them does not wait for ever."""

import pytest
from maro_group import LONG, Group, echo, maro_group

from muster.compat.maro import Proxy, SessionMessage, SessionType, open_requests

__all__ = ["maro_group"]

MOST_EVENTS = 4096  # That Muster keeps until it can tell them.


def ask(sender: Proxy, receiver: Proxy, kind: SessionType = SessionType.TASK) -> str:
    ids = sender.isend(SessionMessage("t", sender.name, receiver.name, session_type=kind))
    assert ids is not None
    return ids[0]


def hear(proxy: Proxy, count: int) -> None:
    for _ in range(count):
        assert proxy.receive_once(LONG) is not None


def test_of_too_many_requests_notifications_are_given_up_first(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_requests, "MOST_OPEN", 2)
    master, worker = group.pair()
    task = ask(master, worker)
    news = [ask(master, worker, SessionType.NOTIFICATION) for _ in range(3)]
    # Two of them wait for nothing any more.
    assert group.run(master.receive_by_id, news[:2], -1).result(30) == []
    echo(worker, 4)
    replies = master.receive_by_id([task, news[2]], LONG)
    assert replies is not None
    assert {reply.session_id for reply in replies} == {task, news[2]}


def test_who_waits_for_a_task_that_is_given_up_goes_without(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_requests, "MOST_OPEN", 2)
    master, worker = group.pair()
    oldest = ask(master, worker)
    waiting = group.run(master.receive_by_id, oldest, -1)
    for _ in range(2):
        ask(master, worker)
    assert waiting.result(30) == []


def test_more_requests_than_events_are_known_to_have_failed(group: Group) -> None:
    master, worker = group.pair()
    count = MOST_EVENTS + 500
    hearing = group.run(hear, worker, count)
    ids = [ask(master, worker) for _ in range(count)]
    hearing.result(30)
    worker.close()
    assert group.run(master.receive_by_id, ids, -1).result(30) == []
