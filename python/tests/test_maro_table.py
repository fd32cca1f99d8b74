"""MARO's register table, by examples of what it fires with."""

from typing import Any

import pytest

from muster.compat.maro import (
    ConditionalEventSyntaxError,
    PeersMissError,
    RegisterTable,
    SessionMessage,
)
from muster.compat.maro.register_table import peer_type

PEERS = {
    "worker_a": [f"worker_a.{number}" for number in range(1, 6)],
    "worker_b": [f"worker_b.{number}" for number in range(1, 6)],
}


def message(source: str, tag: str = "t") -> SessionMessage:
    return SessionMessage(tag, source, "test")


class Recorder:
    """A table whose handlers note the sources that they are called with."""

    def __init__(self, peers: Any, *events: Any) -> None:
        self.table = RegisterTable(peers)
        for event in events:
            self.table.register_event_handler(event, self.handle)

    def handle(self, messages: list[SessionMessage]) -> list[str]:
        return [one.source.rpartition("_")[2] for one in messages]

    def push(self, *sources: str, tag: str = "t") -> Any:
        for source in sources:
            result = self.table.push(message(source, tag))
        return result


def test_push_runs_handlers_and_gives_their_results() -> None:
    one = Recorder(PEERS, "worker_a:t:1")
    assert one.push("worker_a.3") == [["a.3"]]
    assert one.push("worker_b.3") is None
    assert one.push("worker_a.3", tag="other") is None


def test_get_has_what_push_did_not_run_each_event_once() -> None:
    one = Recorder(PEERS, "worker_a:t:1")
    for number in (1, 2):
        assert one.table.push(message(f"worker_a.{number}"), auto_trigger=False) is None
    assert [len(messages) for _, messages in one.table.get()] == [1]
    assert [messages[0].source for _, messages in one.table.get()] == ["worker_a.2"]
    assert one.table.get() == []


def test_percentages_are_of_the_peers_of_a_type() -> None:
    one = Recorder(PEERS, "worker_a:t:60%")
    assert one.push("worker_a.1", "worker_a.2") is None
    assert one.push("worker_a.3") == [["a.1", "a.2", "a.3"]]


def test_one_worker_alone_is_not_most_of_them() -> None:
    one = Recorder(PEERS, "worker_a:t:40%")
    assert one.push("worker_a.1", "worker_a.1", "worker_a.1") is None
    assert one.push("worker_a.2") == [["a.1", "a.2"]]


def test_an_amount_beyond_the_peers_means_all_of_them() -> None:
    one = Recorder({"w": ["w_1", "w_2"]}, "w:t:5")
    assert one.push("w_1") is None
    assert one.push("w_2") == [["1", "2"]]


def test_an_amount_beyond_the_peers_means_all_of_those_who_come_later() -> None:
    peers: dict[str, list[str]] = {"w": []}

    def of_type(kind: str = "*") -> list[str]:  # As in 0.1.
        return peers["w" if kind == "*" else kind]

    tables = [Recorder(lambda: peers, "w:t:5"), Recorder(of_type, "w:t:5")]
    peers["w"] = ["w_1", "w_2"]
    for one in tables:
        for source in peers["w"]:
            one.table.push(message(source), auto_trigger=False)
        assert [len(messages) for _, messages in one.table.get()] == [2]


def test_a_percentage_that_rounds_to_nothing_needs_one() -> None:
    one = Recorder({"w": ["w_1", "w_2"]}, "w:t:10%")
    assert one.push("w_2") == [["2"]]


def test_events_combine() -> None:
    both = Recorder(PEERS, ("worker_a:t:1", "worker_b:t:1", "AND"))
    assert both.push("worker_b.1") is None
    assert both.push("worker_a.1") == [["b.1", "a.1"]]  # The oldest first.
    mixed = Recorder(PEERS, (("worker_a.1:t:2", "worker_b.1:t:1", "&&"), "worker_b.5:t:1", "||"))
    assert mixed.push("worker_a.1", "worker_b.1") is None
    assert mixed.push("worker_b.5") == [["b.5"]]
    assert mixed.push("worker_a.1") == [["a.1", "b.1", "a.1"]]


def test_a_name_that_contains_another_is_not_that_name() -> None:
    peers = {"worker": ["worker_1"], "worker_eval": ["worker_eval_1"], "coworker": ["coworker_9"]}
    one = Recorder(peers, "worker:t:1")
    assert one.push("worker_eval_1", "coworker_9") is None
    assert one.push("worker_1") == [["1"]]


def test_who_leaves_is_no_longer_waited_for() -> None:
    peers = {"w": ["w_1", "w_2", "w_3"]}
    one = Recorder(peers, "w:t:100%")
    assert one.push("w_1", "w_2") is None
    peers["w"].remove("w_3")
    assert [len(messages) for _, messages in one.table.get()] == [2]


def test_a_table_that_asks_for_peers_by_type_only_stores() -> None:
    def get_peers(component_type: str = "*") -> list[str]:
        if component_type == "*":
            return [name for names in PEERS.values() for name in names]
        if component_type not in PEERS:
            raise PeersMissError(component_type)
        return PEERS[component_type]

    one = Recorder(get_peers, "worker_a:t:40%", "nobody:t:1")
    assert one.push("worker_a.1", "worker_b.2", "worker_a.2") is None
    assert [(handler, len(messages)) for handler, messages in one.table.get()] == [(one.handle, 2)]


def test_a_bare_tag_gives_the_message_itself() -> None:
    table = RegisterTable({})
    table.register_event_handler("hello", lambda message: message.src)
    assert table.push(message("runner", "hello")) == ["runner"]


def test_clear_drops_messages_and_keeps_events() -> None:
    one = Recorder(PEERS, "worker_a:t:2")
    one.push("worker_a.1")
    one.table.clear()
    assert one.push("worker_a.2") is None
    assert one.push("worker_a.3") == [["a.2", "a.3"]]


@pytest.mark.parametrize(
    "event",
    [
        *("a:b", "a:b:c:1", "a:b:x", "a:b:%", "a:b:1.5%", "a:b:", "a:b:0", "a:b:-1", "a:b:0%"),
        *("", ":b:1", (), ("AND",), ("a:b:1", "XOR"), ("a:b:1", "and"), ["a:b:1", "AND"], 1),
        (1, "a:b:1", "AND"),
    ],
)
def test_what_can_never_be_met_is_refused_when_it_is_registered(event: Any) -> None:
    with pytest.raises(ConditionalEventSyntaxError) as caught:
        RegisterTable(PEERS).register_event_handler(event, print)
    assert caught.value.error_code == 1008


def test_types_are_read_from_names() -> None:
    assert peer_type("rollout_worker_proxy_0f3a") == "rollout_worker"
    assert peer_type("rollout_worker_0f3a") == "rollout_worker"
    assert peer_type("master") == "master"
