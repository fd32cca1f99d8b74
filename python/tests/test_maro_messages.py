"""MARO's messages, errors and settings, as values."""

import inspect
import subprocess
import sys
from enum import Enum

import pytest

from muster.compat.maro import (
    ERROR_CODE,
    DriverType,
    MAROException,
    Message,
    MessageSessionTypeError,
    NotificationSessionStage,
    PeersMissError,
    Proxy,
    RedisConnectionError,
    SessionMessage,
    SessionType,
    TaskSessionStage,
    exception,
)
from muster.compat.maro.message import Messages, tag_text
from muster.compat.maro.settings import Settings


class Color(Enum):
    RED = "red"


def test_a_message_has_the_names_of_every_version() -> None:
    message = Message(tag="t", source="a", destination="b", payload=[1])
    assert message.body == message.payload == [1]
    assert message.type == message.tag and message.src == message.source
    message.payload = 2
    assert message.body == 2
    assert message.session_id.endswith(".a.b")
    assert Message("t", "a", "b").body == {}
    assert Message("t", "a", "b", None, "mine").session_id == "mine"
    assert tag_text(Color.RED) == "red"


def test_a_session_message_starts_with_a_request() -> None:
    task = SessionMessage("t", "a", "b", [0])
    assert (task.session_type, task.session_stage) == (SessionType.TASK, TaskSessionStage.REQUEST)
    news = SessionMessage("t", "a", "b", session_type=SessionType.NOTIFICATION)
    assert news.session_stage is NotificationSessionStage.REQUEST
    first = SessionMessage("t", "a", "b", 1, "session", SessionType.NOTIFICATION)  # As in 0.1.
    assert (first.session_id, first.session_type) == ("session", SessionType.NOTIFICATION)


def test_an_unknown_session_type_is_refused() -> None:
    with pytest.raises(MessageSessionTypeError) as caught:
        SessionMessage("t", "a", "b", session_type="task")
    assert caught.value.error_code == 1007


def test_a_reply_changes_nothing_of_what_it_answers() -> None:
    task = SessionMessage("sum", "master", "worker", [1, 2])
    first, second = task.reply(body=3), task.reply(tag="again")
    assert (task.source, task.destination, task.body) == ("master", "worker", [1, 2])
    assert (first.source, first.destination, first.body) == ("worker", "master", 3)
    assert (second.destination, second.tag, second.body) == ("master", "again", None)
    assert first.session_id == task.session_id and first.message_id != task.message_id


def test_a_forward_keeps_the_body_unless_there_is_another() -> None:
    task = SessionMessage("sum", "master", "worker", [1, 2])
    assert task.forward("helper").body == [1, 2]
    assert task.forward("helper", body=[]).body == []
    assert task.forward("helper", "t").source == "worker"


def test_a_list_of_one_message_has_what_the_message_has() -> None:
    one = Messages([Message("t", "a", "b", body={"counter": 1})])
    assert one.body["counter"] == 1 and one[0].tag == one.tag
    with pytest.raises(AttributeError, match="list of 2"):
        _ = Messages([one[0], one[0]]).body


def test_errors_have_their_numbers_and_are_caught_as_exceptions() -> None:
    assert sorted(ERROR_CODE) == list(range(1000, 1014))
    assert PeersMissError("nobody").error_code == 1002
    assert MAROException(3000, "told").error_code == 3000
    with pytest.raises(RedisConnectionError) as caught:
        raise exception.FatalRedisConnectionError("nobody answers")
    assert isinstance(caught.value, Exception)
    assert caught.value.error_code == 1001
    assert isinstance(caught.value, SystemExit) and caught.value.code == 64


@pytest.mark.parametrize(
    ("name", "code"), [("FatalDriverTypeError", 64), ("FatalPeersRejoinTimeout", 65)]
)
def test_a_process_that_dies_of_one_ends_with_its_exit_code(name: str, code: int) -> None:
    program = f"from muster.compat.maro import exception\nraise exception.{name}('it is so')"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == code
    assert "it is so" in ended.stderr


def test_a_proxy_that_expects_nobody_is_refused() -> None:
    with pytest.raises(PeersMissError):
        Proxy("group", "worker", {})
    with pytest.raises(MAROException) as caught:
        Proxy("group", "worker", {"master": 0})
    assert caught.value.error_code == 1003
    with pytest.raises(MAROException) as caught:
        Proxy("group", "worker", {"master": 1}, driver_type="zmq")
    assert caught.value.error_code == 1009


def test_settings_go_by_the_names_of_every_version(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Settings(
        "g", "worker", [("master", 1)], max_retries=5, base_retry_interval=0.1, log_enable=False
    )
    assert first.discovery_seconds == pytest.approx(3.1)
    second = Settings("g", "w", {"m": 1}, max_retries=10, retry_interval_base_value=0.1)
    assert second.discovery_seconds == pytest.approx(102.3)
    third = Settings("g", "w", {"m": 2}, None, DriverType.ZMQ, {"receive_timeout": 5})
    assert third.expected == [("m", 2)] and third.milliseconds("receive_timeout") == 5
    assert third.milliseconds("send_timeout") == -1
    by_position = Settings("g", "w", {"m": 2}, DriverType.ZMQ, {"send_timeout": 7}, ("h", 1))  # type: ignore[arg-type]
    assert by_position.milliseconds("send_timeout") == 7 and by_position.redis_address == ("h", 1)
    assert inspect.signature(Proxy).parameters["max_rejoin_times"].default == 5
    assert third.name.startswith("w_") and third.name != third.name
    monkeypatch.setenv("COMPONENT_NAME", "w_again")
    assert third.name == "w_again"
    some = Settings("g", "w", {"m": 2, "n": 1}, minimal_peers={"m": 0})
    assert some.minimum == [("m", 1), ("n", 1)]


def test_any_group_name_will_do() -> None:
    names = [Settings(text, "w", {"m": 1}).group for text in ("plain-1", "a b", "a/b", "x" * 70)]
    assert names[0] == "plain-1" and len(set(names)) == 4
    assert all(len(name) <= 64 and " " not in name and "/" not in name for name in names)


def test_redis_is_required_where_it_was_named() -> None:
    # Port 1 of this host: nobody is there.
    settings = Settings("g", "w", {"m": 1}, redis_address=("127.0.0.1", 1))
    settings.max_redis_connect_retries = 2
    settings.initial_redis_connect_retry_interval = 0.001
    with pytest.raises(RedisConnectionError):
        settings.registry()
