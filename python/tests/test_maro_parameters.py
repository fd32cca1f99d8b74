"""What can be told to MARO's classes, and what is so if nothing is told, by its versions."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from muster.compat.maro import (
    KILL_ALL_EXIT_CODE,
    NON_RESTART_EXIT_CODE,
    SUCCESS_EXIT_CODE,
    DriverType,
    Message,
    NotificationSessionStage,
    PeersMissError,
    Proxy,
    SessionMessage,
    SessionType,
    TaskSessionStage,
    ZmqDriver,
)
from muster.compat.maro.settings import Settings

REQUIRED = inspect.Parameter.empty

# In the order of 0.3; what it requires is checked by Settings, which knows earlier forms, too.
PROXY = {
    "group_name": REQUIRED,
    "component_type": "",
    "expected_peers": None,
    "component_name": None,
    "driver_type": DriverType.ZMQ,
    "driver_parameters": None,
    "redis_address": ("localhost", 6379),
    "initial_redis_connect_retry_interval": 0.1,
    "max_redis_connect_retries": 10,
    "initial_peer_discovery_retry_interval": 0.1,
    "max_peer_discovery_retries": 10,
    "enable_rejoin": False,
    "minimal_peers": 1,
    "peers_catch_lifetime": 10,
    "enable_message_cache_for_rejoin": False,
    "max_length_for_message_cache": 1024,
    "timeout_for_minimal_peer_number": 300,
    "is_remove_failed_container": False,
    "max_rejoin_times": 5,
}
# Of 0.1 and 0.2, and of the form before; a retry that is not told is that of 0.3.
PROXY_BEFORE = {
    "max_retries": None,
    "retry_interval_base_value": None,
    "base_retry_interval": None,
    "log_enable": True,
    "fault_tolerant": False,
    "peer_name_list": None,
    "multithread": False,
    "protocol": "tcp",
    "retry_interval": None,
    "logger": None,
    "msg_request": None,
}
CALLS: dict[Callable[..., Any], dict[str, Any]] = {
    Proxy.send: {"message": REQUIRED, "timeout": None},
    Proxy.isend: {"message": REQUIRED},
    Proxy.scatter: {
        "tag": REQUIRED,
        "session_type": REQUIRED,
        "destination_body_list": None,
        "timeout": -1,
    },
    Proxy.iscatter: {"tag": REQUIRED, "session_type": REQUIRED, "destination_body_list": None},
    Proxy.receive_once: {"timeout": None},
    Proxy.receive_by_id: {"targets": None, "timeout": None},
    Proxy.reply: {"message": None, "tag": None, "body": None, "ack_reply": False},
    Proxy.forward: {"message": None, "destination": "", "tag": None, "body": None},
    Proxy.get_peer_type: {"peer_name": REQUIRED},
    Proxy.get_peers: {"component_type": "*"},
    Proxy.close: {},
    Message: {"tag": None, "source": "", "destination": "", "body": None},
    SessionMessage: {
        "tag": None,
        "source": "",
        "destination": "",
        "body": None,
        "session_type": SessionType.TASK,
        "session_stage": None,
    },
    ZmqDriver: {
        "component_type": REQUIRED,
        "protocol": "tcp",
        "send_timeout": -1,
        "receive_timeout": -1,
        "logger": None,
    },
}
VALUES = {
    DriverType: ["zmq_driver"],
    SessionType: ["task", "notification"],
    TaskSessionStage: ["task_request", "task_receive", "task_complete"],
    NotificationSessionStage: ["notification_request", "notification_receive"],
}


def defaults(call: Callable[..., Any]) -> dict[str, Any]:
    given = inspect.signature(call).parameters
    return {name: given[name].default for name in given if name != "self"}


def test_a_proxy_is_told_what_maros_are() -> None:
    assert list(defaults(Proxy).items()) == list((PROXY | PROXY_BEFORE).items())


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)
def test_calls_take_what_maros_do_in_the_same_order(call: Callable[..., Any]) -> None:
    wanted = list(CALLS[call].items())
    assert list(defaults(call).items())[: len(wanted)] == wanted


@pytest.mark.parametrize("words", VALUES, ids=lambda words: words.__name__)
def test_words_have_the_values_that_maros_have(words: Any) -> None:
    assert [word.value for word in words] == VALUES[words]


@pytest.mark.parametrize("timeout", [-1, 5000])
def test_drivers_are_told_the_same_by_their_parameters(timeout: int) -> None:
    told = {"protocol": "tcp", "send_timeout": timeout, "receive_timeout": timeout}
    settings = Settings("g", "worker", {"master": 1}, driver_parameters=told)
    assert settings.milliseconds("receive_timeout") == timeout
    assert settings.milliseconds("send_timeout") == timeout
    assert Settings("g", "worker", {"master": 1}).milliseconds("send_timeout") == -1


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ({}, 102.3),
        ({"max_peer_discovery_retries": 3}, 0.7),
        ({"initial_peer_discovery_retry_interval": 1}, 1023),
        ({"max_retries": 5}, 3.1),
        ({"max_retries": 5, "base_retry_interval": 1}, 31),
        ({"retry_interval_base_value": 1}, 1023),
    ],
)
def test_peers_are_looked_for_as_long_as_retries_say(told: Any, seconds: float) -> None:
    settings = Settings("g", "worker", {"master": 1}, **told)
    assert settings.discovery_seconds == pytest.approx(seconds)


def test_processes_end_with_the_codes_of_maros() -> None:
    assert (SUCCESS_EXIT_CODE, NON_RESTART_EXIT_CODE, KILL_ALL_EXIT_CODE) == (0, 64, 65)


def test_what_is_required_is_missed() -> None:
    with pytest.raises(TypeError, match="group_name"):
        Settings()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="component_type"):
        Settings("g")
    with pytest.raises(PeersMissError):
        Settings("g", "worker")
