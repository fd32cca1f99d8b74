"""What others send while somebody waits for replies is kept, and not without a bound."""

import logging

import pytest
from maro_group import LONG, Group, maro_group, until

import muster
from muster.compat.maro import DriverReceiveError, Proxy, SessionMessage, mailbox

__all__ = ["maro_group"]


def ask(sender: Proxy, receiver: Proxy, body: object) -> str:
    ids = sender.isend(SessionMessage("t", sender.name, receiver.name, body))
    assert ids is not None
    return ids[0]


def take(proxy: Proxy) -> object:
    message = proxy.receive_once(LONG)
    assert message is not None
    return message.body


def test_more_messages_than_are_kept_are_refused_and_their_senders_told(
    group: Group, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(mailbox, "MOST_MESSAGES", 3)
    caplog.set_level(logging.WARNING)
    master, worker = group.pair()
    wanted = ask(master, worker, "reply to this")
    request = worker.receive_once(LONG)
    asked = [ask(worker, master, number) for number in range(5)]
    worker.reply(request, body="reply")

    replies = master.receive_by_id(wanted, timeout=LONG)

    # The reply came behind all of them, and was not refused.
    assert replies is not None and [reply.body for reply in replies] == ["reply"]
    assert [take(master) for _ in range(3)] == [0, 1, 2]
    assert worker.receive_by_id(asked[3:], timeout=LONG) == []
    assert "3 messages" in caplog.text and "send fewer" in caplog.text
    # There is room again.
    ask(worker, master, "later")
    assert take(master) == "later"


def test_who_waits_for_the_answer_of_a_refused_message_gets_an_error(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "MOST_MESSAGES", 1)
    master, worker = group.pair()
    wanted = ask(master, worker, "reply to this")
    request = worker.receive_once(LONG)
    ask(worker, master, "kept")
    waiting = group.run(master.receive_by_id, wanted, LONG)

    with pytest.raises(DriverReceiveError, match="waits for replies, and has 1 messages"):
        worker.send(SessionMessage("t", worker.name, master.name, "refused"), LONG)

    worker.reply(request, body="reply")
    assert [reply.body for reply in waiting.result(30)] == ["reply"]
    assert take(master) == "kept"


def test_bytes_are_bounded_as_messages_are_but_one_is_always_kept(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "MOST_BYTES", 100_000)
    master, worker = group.pair()
    wanted = ask(master, worker, "reply to this")
    request = worker.receive_once(LONG)
    for size in (200_000, 10, 10):
        ask(worker, master, bytes(size))
    worker.reply(request)
    master.receive_by_id(wanted, timeout=LONG)
    assert take(master) == bytes(200_000)
    assert master.receive_once(timeout=0) is None

    # Below it, all are kept.
    wanted = ask(master, worker, "reply to this")
    request = worker.receive_once(LONG)
    for _ in range(4):
        ask(worker, master, bytes(20_000))
    worker.reply(request)
    master.receive_by_id(wanted, timeout=LONG)
    assert [take(master) for _ in range(4)] == [bytes(20_000)] * 4


def test_replies_are_kept_however_many_they_are(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "MOST_MESSAGES", 2)
    master, worker = group.pair()
    ids = [ask(master, worker, number) for number in range(20)]
    for _ in ids:
        message = worker.receive_once(LONG)
        assert message is not None
        worker.reply(message, body=message.body)
    assert [reply.body for reply in master.receive_by_id(ids[-1], LONG) or []] == [19]
    rest = master.receive_by_id(ids[:10], LONG)
    assert rest is not None and [reply.body for reply in rest] == list(range(10))
    assert [take(master) for _ in range(9)] == list(range(10, 19))


def test_what_cannot_be_read_ends_no_wait(group: Group, caplog: pytest.LogCaptureFixture) -> None:
    master, worker = group.pair()
    core = worker._joined()
    broken = {"maro": b"no pickle", "buffers": []}
    for kind in (muster.SessionType.NOTIFICATION, muster.SessionType.TASK):
        core.isend("t", master.name, broken, kind)
    ask(worker, master, "fine")
    assert take(master) == "fine"
    until(lambda: caplog.text.count("read the message") == 2)


class Busy:
    """In the place of a proxy to which somebody sends all the time."""

    def __init__(self, received: muster.Message) -> None:
        self.counters = {"waiting": 3}
        self.now = 0.0
        self._received = received

    def monotonic(self) -> float:
        return self.now

    def receive_once(self, timeout: float) -> muster.Message:
        self.now += 0.01
        assert self.now < 100
        return self._received


def test_a_timeout_is_kept_while_others_send_all_the_time(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, worker = group.pair()
    ask(worker, master, "news")
    message = master.receive_once(LONG)
    assert message is not None
    busy = Busy(message._received)
    monkeypatch.setattr(mailbox, "time", busy)
    monkeypatch.setattr(master._mailbox, "_core", busy)
    assert master.receive_by_id("another", timeout=1000) == []
    assert busy.now == pytest.approx(1, abs=0.05)


def test_a_look_that_does_not_wait_finds_what_came_behind_others(group: Group) -> None:
    master, worker = group.pair()
    wanted = ask(master, worker, "reply to this")
    request = worker.receive_once(LONG)
    for number in range(5):
        ask(worker, master, number)
    worker.reply(request, body="reply")
    core = master._joined()
    until(lambda: core.counters["waiting"] == 6)
    replies = master.receive_by_id(wanted, timeout=0)
    assert replies is not None and [reply.body for reply in replies] == ["reply"]
    assert [take(master) for _ in range(5)] == list(range(5))
