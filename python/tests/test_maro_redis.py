"""MARO's proxy with a real Redis."""

import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from maro_group import until

from muster.compat.maro import Proxy, SessionMessage, settings


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.fail("redis-server is not installed; scripts/setup does that")
    folder: Path = tmp_path_factory.mktemp("redis")
    port = free_port()
    server = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    for line in server.stdout:
        if "eady to accept connections" in line:
            break
    yield "127.0.0.1", port
    server.kill()
    server.communicate()


def keys(address: tuple[str, int], pattern: str) -> bytes:
    with socket.create_connection(address) as link:
        link.sendall(f"KEYS {pattern}\r\nQUIT\r\n".encode())
        answer = b""
        while part := link.recv(4096):
            answer += part
    return answer


def test_components_meet_in_the_redis_that_is_named(redis: tuple[str, int]) -> None:
    group = f"maro-{uuid.uuid4().hex}"
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(Proxy, group, "master", {"worker": 1}, redis_address=redis)
        worker = Proxy(group, "worker", {"master": 1}, redis_address=redis)
        master = waiting.result(30)
    assert f"{group}:worker".encode() in keys(redis, f"*{group}*")
    master.isend(SessionMessage("t", master.name, worker.name, "by way of Redis"))
    message = worker.receive_once(20_000)
    assert message is not None and message.body == "by way of Redis"
    worker.close()
    master.close()


def test_the_usual_address_is_redis_only_where_somebody_answers(
    redis: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "REDIS_PORT", free_port())
    made = settings.Settings("g", "w", {"m": 1}, redis_address=("localhost", settings.REDIS_PORT))
    assert made.registry() == ""
    monkeypatch.setattr(settings, "REDIS_PORT", redis[1])
    made.redis_address = ("localhost", redis[1])
    assert made.registry() == f"redis://localhost:{redis[1]}"
    assert made.own_address in ("127.0.0.1", "::1") and made.listen is None


@pytest.mark.parametrize(
    ("own_address", "listen"),
    [
        ("", None),
        ("127.0.0.1", None),
        ("::1", None),
        ("10.0.0.7", ["shm://*", "tcp://10.0.0.7:0"]),
        ("2001:db8::7", ["shm://*", "tcp://[2001:db8::7]:0"]),
    ],
)
def test_with_a_redis_elsewhere_components_are_reached_from_elsewhere(
    own_address: str, listen: list[str] | None
) -> None:
    made = settings.Settings("g", "worker", {"master": 1})
    made.own_address = own_address
    assert made.listen == listen


def test_components_with_an_address_of_the_network_find_each_other(
    redis: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if Redis were elsewhere; 127.0.0.2 stands for a host's own address.
    monkeypatch.setattr(settings.Settings, "listen", ["shm://*", "tcp://127.0.0.2:0"])
    group = f"maro-{uuid.uuid4().hex}"
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(Proxy, group, "master", {"worker": 1}, redis_address=redis)
        worker = Proxy(group, "worker", {"master": 1}, redis_address=redis)
        master = waiting.result(30)

    def addresses() -> list[str]:  # The registry may tell them after its link stands.
        peer = master._joined().peer(worker.name)
        return peer.addresses if peer is not None else []

    until(lambda: any(address.startswith("tcp://127.0.0.2:") for address in addresses()))
    master.close()
    worker.close()
