"""Sending, receiving, answering."""

from __future__ import annotations

import enum
import logging
import pickle
import threading

import pytest
from conftest import PATIENCE, Join
from crowded import crowded

import muster
from muster import Message, Proxy, SessionType

Pair = tuple[Proxy, Proxy]


def serve(proxy: Proxy, answer: object, count: int = 1) -> threading.Thread:
    """Answers so many tasks, in a thread of its own."""

    def work() -> None:
        for _ in range(count):
            message = proxy.receive_once(PATIENCE)
            assert message is not None
            proxy.reply(message, answer(message) if callable(answer) else answer)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_send_waits_for_the_answer(pair: Pair) -> None:
    a, b = pair
    thread = serve(b, lambda message: message.body * 2)

    answer = a.send("double", "b", 21, PATIENCE)

    thread.join()
    assert answer.body == 42
    assert (answer.tag, answer.source, answer.destination) == ("double", "b", "a")
    assert answer.stage is muster.Stage.COMPLETE


def test_isend_is_answered_by_id(pair: Pair) -> None:
    a, b = pair
    ids = [a.isend("task", "b", i) for i in range(3)]
    for message in b.receive(PATIENCE):
        b.reply(message, message.body + 10)
        if message.body == 2:
            break

    replies = a.receive_by_id(ids, PATIENCE)

    assert [reply.body for reply in replies] == [10, 11, 12]
    assert replies.is_complete
    assert [reply.session_id for reply in replies] == ids


def test_a_notification_asks_for_nothing(pair: Pair) -> None:
    a, b = pair
    a.isend("note", "b", {"x": 1}, SessionType.NOTIFICATION)

    message = b.receive_once(PATIENCE)

    assert message is not None
    assert message.session_type is SessionType.NOTIFICATION
    assert message.body == {"x": 1}


def test_a_receipt_is_what_a_sent_notification_waits_for(pair: Pair) -> None:
    a, b = pair
    got: list[Message | None] = []
    thread = threading.Thread(target=lambda: got.append(b.receive_once(PATIENCE)))
    thread.start()

    receipt = a.send("note", "b", 1, PATIENCE, session_type=SessionType.NOTIFICATION)

    thread.join()
    assert receipt.stage is muster.Stage.RECEIVE
    assert got[0] is not None


def test_iteration_ends_when_nothing_comes(pair: Pair) -> None:
    a, b = pair
    for i in range(5):
        a.isend("n", "b", i, SessionType.NOTIFICATION)
    b.wait_for_peers(["a"], PATIENCE)

    got = []
    for message in b.receive(timeout=0.3):
        got.append(message.body)

    assert got == list(range(5))


def test_no_message_in_time_is_none(pair: Pair) -> None:
    a, _ = pair
    assert a.receive_once(0) is None
    assert a.receive_once(0.01) is None


def test_a_message_made_by_hand_can_be_sent(pair: Pair) -> None:
    a, b = pair
    thread = serve(b, "done")
    message = Message("work", "b", [1, 2], session_type=SessionType.TASK)

    answer = a.send(message, timeout=PATIENCE)

    thread.join()
    assert answer.body == "done"
    assert answer.session_id == message.session_id


class Step(enum.Enum):
    ROLLOUT = "rollout"
    UPDATE = 2


def test_tags_may_be_members_of_an_enum(pair: Pair) -> None:
    a, b = pair
    a.isend(Step.ROLLOUT, "b", None, SessionType.NOTIFICATION)
    a.isend(Step.UPDATE, "b", None, SessionType.NOTIFICATION)
    assert [b.receive_once(PATIENCE).tag for _ in range(2)] == ["rollout", "UPDATE"]  # type: ignore[union-attr]


def test_what_the_other_end_fails_with_is_raised(pair: Pair) -> None:
    a, b = pair
    session = a.isend("task", "b")
    message = b.receive_once(PATIENCE)
    assert message is not None
    b.fail(message, "no such move")

    replies = a.receive_by_id(session, PATIENCE)

    assert not replies.is_complete
    assert isinstance(replies.failures[0].error, muster.FailedError)
    assert "no such move" in str(replies.failures[0].error)
    assert replies.failures[0].peer == "b"


def test_a_deadline_that_passes_is_a_timeout_error(pair: Pair) -> None:
    a, _ = pair
    with pytest.raises(TimeoutError) as raised:
        a.send("task", "b", None, 0.01)
    assert isinstance(raised.value, muster.TimedOutError)
    assert raised.value.code == "timeout"


def test_nobody_of_that_name_is_a_lookup_error(pair: Pair) -> None:
    with pytest.raises(LookupError, match="nobody"):
        pair[0].isend("task", "nobody")


def test_who_is_expected_and_missing_is_named(group: str) -> None:
    with pytest.raises(muster.TimedOutError, match="worker"):
        Proxy(group, "master", expected={"worker": 2}, timeout=1)


def test_answers_to_a_message_are_given_once(pair: Pair) -> None:
    a, b = pair
    a.isend("task", "b")
    message = b.receive_once(PATIENCE)
    assert message is not None
    assert not message.is_answered
    b.reply(message, 1)
    assert message.is_answered
    with pytest.raises(ValueError, match="answered before"):
        b.reply(message, 2)


def test_broadcast_asks_all_of_a_type(join: Join) -> None:
    master = join("master", "m")
    workers = [join("worker", f"w{i}", expected=["m"]) for i in range(3)]
    other = join("other", "o", expected=["m"])
    master.wait_for_peers({"worker": 3, "other": 1}, PATIENCE)
    threads = [serve(worker, lambda message: message.destination) for worker in workers]

    replies = master.broadcast("who", "worker", None, PATIENCE)

    for thread in threads:
        thread.join()
    assert sorted(reply.body for reply in replies) == ["w0", "w1", "w2"]
    assert other.receive_once(0) is None
    assert len(master.ibroadcast("all", session_type=SessionType.NOTIFICATION)) == 4


def test_scatter_gives_a_body_to_each(join: Join) -> None:
    master = join("master", "m")
    workers = [join("worker", f"w{i}", expected=["m"]) for i in range(2)]
    master.wait_for_peers({"worker": 2}, PATIENCE)
    threads = [serve(worker, lambda message: message.body + 1) for worker in workers]

    replies = master.scatter("add", {"w0": 10, "w1": 20}, PATIENCE)

    for thread in threads:
        thread.join()
    assert [(reply.source, reply.body) for reply in replies] == [("w0", 11), ("w1", 21)]


class CountsHowOftenItIsWritten:
    times = 0

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        type(self).times += 1
        return int, (7,)


def test_scatter_writes_one_object_once(pair: Pair) -> None:
    a, _ = pair
    body = CountsHowOftenItIsWritten()

    a.iscatter("x", [("b", body), ("b", 1), ("b", body)], session_type=SessionType.NOTIFICATION)

    assert CountsHowOftenItIsWritten.times == 1


def test_collect_is_content_with_enough(join: Join) -> None:
    master = join("master", "m")
    workers = [join("worker", f"w{i}", expected=["m"]) for i in range(3)]
    master.wait_for_peers({"worker": 3}, PATIENCE)
    ids = master.iscatter("work", [(f"w{i}", i) for i in range(3)])
    for worker in workers[:2]:
        message = worker.receive_once(PATIENCE)
        assert message is not None
        worker.reply(message, "ok")

    replies = master.collect(ids, fraction=0.6, timeout=PATIENCE)

    assert len(replies) == 2
    assert replies.missing == [ids[2]]


def test_a_future_gives_the_answer(pair: Pair) -> None:
    a, b = pair
    future = a.request("task", "b", 1)
    assert not future.done()
    with pytest.raises(TimeoutError):
        future.result(0.01)
    thread = serve(b, "answer")

    assert future.result(PATIENCE).body == "answer"
    assert future.result(0).body == "answer"
    assert future.done()
    thread.join()


def test_a_future_can_be_cancelled_by_its_session(pair: Pair) -> None:
    a, _ = pair
    future = a.request("task", "b", 1)
    assert future.session_id is not None

    assert a.cancel(future.session_id)

    with pytest.raises(muster.CancelledError):
        future.result(PATIENCE)
    assert a.request("task", "nobody").session_id is None


def test_a_task_can_be_passed_on(join: Join) -> None:
    client, broker, worker = join("client", "c"), join("broker", "b"), join("worker", "w")
    client.wait_for_peers(["b"], PATIENCE)
    broker.wait_for_peers(["w"], PATIENCE)
    session = client.isend("task", "b", {"deep": [1]})
    message = broker.receive_once(PATIENCE)
    assert message is not None
    passed_on = broker.forward(message, "w")
    thread = serve(worker, lambda message: message.body["deep"])
    (answer,) = broker.receive_by_id(passed_on, PATIENCE).messages
    broker.reply(message, answer.body)
    thread.join()

    assert client.receive_by_id(session, PATIENCE).messages[0].body == [1]


def test_a_session_can_be_cancelled(pair: Pair) -> None:
    a, _ = pair
    session = a.isend("task", "b")
    assert a.session_state(session) == "requested"
    assert a.cancel(session)
    assert a.is_answered(session)
    assert isinstance(a.receive_by_id(session, PATIENCE).failures[0].error, muster.CancelledError)


def test_members_are_known_and_their_end_is_told(join: Join) -> None:
    a = join("one", "a")
    with Proxy(a.group, "other", "b", expected=["a"], timeout=PATIENCE):
        a.wait_for_peers(["b"], PATIENCE)
        assert a.peer_names("other") == ["b"]
        info = a.peer("b")
        assert info is not None and info.presence == "here" and info.driver == "shm"
    kinds = []
    while "left" not in kinds:
        event = a.next_event(PATIENCE)
        assert event is not None
        if event.peer == "b":  # A slow registry is told too.
            kinds.append(event.kind)
    assert kinds[0] == "joined"
    assert a.peer("nobody") is None


def test_peers_are_those_who_are_there(join: Join) -> None:
    a = join("one", "a")
    with Proxy(a.group, "other", "b", expected=["a"], timeout=PATIENCE):
        a.wait_for_peers(["b"], PATIENCE)
        assert [(info.name, info.presence) for info in a.peers] == [("b", "here")]
        assert a.peers[0] == a.peer("b")
    while (gone := a.peer("b")) and gone.presence != "left":
        a.next_event(PATIENCE)
    assert gone is not None
    assert a.peers == [] and a.peer_names("other") == []


def test_nobody_is_there_for_who_has_left(join: Join) -> None:
    a, b = join("one", "a"), join("other", "b")
    a.wait_for_peers(["b"], PATIENCE)
    a.leave(PATIENCE)
    assert a.peers == [] and a.peer_names("other") == [] and not a.has_peers(["b"])
    with pytest.raises(muster.CancelledError, match="has left"):
        a.wait_for_peers(["b"], PATIENCE)
    known = a.peer("b")
    assert known is not None and known.name == "b"
    assert b.ended is None


def test_answers_for_which_there_is_no_room_have_a_deadline(join: Join) -> None:
    a, b, task = crowded(join)
    with pytest.raises(muster.OverloadedError):
        a.acknowledge(task, timeout=0)
    with pytest.raises(muster.OverloadedError):
        a.fail(task, "too much", timeout=0.01)
    while b.receive_once(0) is not None:
        pass
    a.acknowledge(task, timeout=PATIENCE)
    a.fail(task, "at last", timeout=PATIENCE)
    failure = b.receive_by_id(task.session_id, PATIENCE).failures[0]
    assert "at last" in str(failure.error)


def test_events_are_told_to_who_asked(group: str) -> None:
    told: list[str] = []
    with (
        Proxy(group, "one", "a", on_event=lambda event: told.append(event.kind)) as a,
        Proxy(group, "two", "b", expected=["a"], timeout=PATIENCE),
    ):
        a.wait_for_peers(["b"], PATIENCE)
        a.receive_once(0)
    assert "joined" in told


def test_who_left_is_done(group: str) -> None:
    proxy = Proxy(group, "one")
    proxy.leave(PATIENCE)
    assert proxy.ended is not None
    assert list(proxy.receive()) == []
    with pytest.raises(muster.CancelledError):
        proxy.receive_once(0)


def test_a_pickle_that_is_not_wanted_is_refused_and_its_sender_told(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = pair
    session = a.isend("task", "b", {1, 2})
    with caplog.at_level(logging.WARNING, logger="muster"):
        assert b.receive_once(0.3) is None
    failure = a.receive_by_id(session, PATIENCE).failures[0]
    assert isinstance(failure.error, muster.UnsupportedError)
    assert "accepts_pickles" in str(failure.error)
    assert "refused a message of a" in caplog.text


def test_pickles_come_where_they_are_wanted(join: Join) -> None:
    a = join("one", "a", pickler="cloudpickle", accepts_pickles=True)
    b = join("two", "b", accepts_pickles=True, expected=["a"])
    a.wait_for_peers(["b"], PATIENCE)
    factor = 3
    a.isend("call", "b", lambda x: x * factor, SessionType.NOTIFICATION)
    message = b.receive_once(PATIENCE)
    assert message is not None and message.body(14) == 42


@pytest.mark.parametrize("how", [muster.Compression.ZSTD, muster.Compression.LZ4])
def test_bodies_can_be_compressed(pair: Pair, how: muster.Compression) -> None:
    a, b = pair
    a.isend("text", "b", {"text": "again " * 10_000}, SessionType.NOTIFICATION, compression=how)
    message = b.receive_once(PATIENCE)
    assert message is not None and message.body == {"text": "again " * 10_000}


def test_words_say_what_they_are(pair: Pair) -> None:
    a, b = pair
    assert repr(a) == f"<Proxy a of {a.group}>"
    message = Message("tag", "b", source="a")
    assert repr(message) == "Message('tag' from 'a' to 'b', request)"
    id_ = message.session_id
    assert muster.Id(str(id_)) == id_ and len({id_, muster.Id(str(id_))}) == 1
    with pytest.raises(ValueError):
        muster.Id("short")
    assert b.counters["waiting"] == 0


def test_a_message_that_did_not_come_cannot_be_forwarded(pair: Pair) -> None:
    a, _ = pair
    with pytest.raises(muster.InvalidError, match="send"):
        a.forward(muster.Message("x", "b", {"k": 1}), "b")


def test_a_pickler_that_makes_no_bytes_is_refused(join: Join) -> None:
    class Pickler:
        @staticmethod
        def dumps(body: object, **how: object) -> bytearray:
            return bytearray(100_000)

        loads = staticmethod(pickle.loads)

    a = join("one", "a", pickler=Pickler)
    with pytest.raises(muster.InvalidError, match="bytearray"):
        a.isend("x", "a", object(), SessionType.NOTIFICATION)
