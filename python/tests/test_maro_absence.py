"""MARO's proxy where somebody is not there, not yet or no longer."""

from typing import Any

import pytest
from maro_group import LONG, Group, echo, maro_group, until

import muster
from muster.compat.maro import (
    DriverReceiveError,
    DriverSendError,
    InformationUncompletedError,
    PeersMissError,
    PeersRejoinTimeout,
    Proxy,
    RedisConnectionError,
    SessionMessage,
    SessionType,
)

__all__ = ["maro_group"]


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


def test_a_closed_proxy_says_so_by_errors_of_maro(group: Group) -> None:
    master, worker = group.pair()
    worker.isend(SessionMessage("t", worker.name, master.name))
    question = master.receive_once(LONG)
    waiting = group.run(master.receive_by_id, "of another", LONG)
    until(lambda: bool(master._mailbox._waiters))
    master.close()
    with pytest.raises(DriverReceiveError):
        waiting.result(30)
    with pytest.raises(DriverReceiveError):
        master.receive_by_id("of another")
    with pytest.raises(DriverSendError):
        master.send(SessionMessage("t", master.name, worker.name))
    with pytest.raises(DriverSendError):
        master.reply(question)
    assert master.receive_once(LONG) is None and list(master.receive(timeout=LONG)) == []


def test_a_registry_that_is_not_reached_ends_the_process(monkeypatch: Any) -> None:
    def unreachable(*args: Any, **kwargs: Any) -> None:
        raise muster.UnavailableError("nobody answers")

    monkeypatch.setattr(muster, "Proxy", unreachable)
    with pytest.raises(RedisConnectionError) as caught:
        Proxy("group", "worker", {"master": 1})
    assert isinstance(caught.value, SystemExit) and caught.value.code == 64


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


def rejoining(group: Group, **said: Any) -> tuple[Proxy, Proxy]:
    """A master of two workers that goes on with one, and the one that is to leave."""
    master = group.start(
        "master",
        {"worker": 2},
        enable_rejoin=True,
        enable_message_cache_for_rejoin=True,
        **said,
    )
    names = ("worker_stays", "worker_again")
    workers = [group.start("worker", {"master": 1}, component_name=name) for name in names]
    return master.result(30), workers[1].result(30)


def send_all(proxy: Proxy, destination: str, bodies: list[str]) -> list[list[str] | None]:
    return [proxy.isend(SessionMessage("t", proxy.name, destination, body)) for body in bodies]


def test_messages_wait_for_a_peer_that_returns(group: Group, monkeypatch: Any) -> None:
    master, worker = rejoining(group)
    worker.close()
    until(lambda: master.peers == {"worker": ["worker_stays"]})
    assert send_all(master, "worker_again", ["kept", "too"]) == [None, None]
    monkeypatch.setenv("COMPONENT_NAME", "worker_again")
    back = group.start("worker", {"master": 1}).result(30)
    assert back.name == "worker_again"
    until(lambda: len(master.peers["worker"]) == 2)
    sent = group.run(master.send, SessionMessage("t", master.name, "worker_again", "new"), LONG)
    echo(back, 3)
    # As in MARO, it waits for the answers of those before it.
    assert [reply.body[1] for reply in sent.result(30)] == ["kept", "too", "new"]


def test_of_more_messages_than_are_kept_the_oldest_give_way(group: Group) -> None:
    master, worker = rejoining(group, max_length_for_message_cache=2)
    worker.close()
    until(lambda: master.peers == {"worker": ["worker_stays"]})
    send_all(master, "worker_again", ["lost", "kept", "too"])
    back = group.start("worker", {"master": 1}, component_name="worker_again").result(30)
    until(lambda: len(master.peers["worker"]) == 2)
    send_all(master, "worker_again", ["new"])
    got = [back.receive_once(LONG) for _ in range(3)]
    assert [message.body for message in got if message] == ["kept", "too", "new"]


def test_replies_wait_for_a_peer_that_returns(group: Group) -> None:
    master, worker = rejoining(group)
    send_all(worker, master.name, ["question"])
    question = master.receive_once(LONG)
    worker.close()
    until(lambda: master.peers == {"worker": ["worker_stays"]})
    assert master.reply(question, body="late") is None
    back = group.start("worker", {"master": 1}, component_name="worker_again").result(30)
    until(lambda: len(master.peers["worker"]) == 2)
    asked = send_all(master, "worker_again", ["new"])[0]
    assert asked is not None and len(asked) == 1  # Nobody answers the reply.
    got = [back.receive_once(LONG) for _ in range(2)]
    assert [message.body for message in got if message] == ["late", "new"]


def test_peers_that_do_not_come_are_an_error(group: Group) -> None:
    with pytest.raises(InformationUncompletedError, match="master"):
        Proxy(group.name, "worker", {"master": 1}, max_retries=1, base_retry_interval=0.5)
