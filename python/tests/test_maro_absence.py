"""MARO's proxy where somebody is not there, not yet or no longer."""

from typing import Any

import pytest
from maro_group import LONG, Group, echo, maro_group, until

from muster.compat.maro import (
    DriverSendError,
    InformationUncompletedError,
    PeersMissError,
    PeersRejoinTimeout,
    Proxy,
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
