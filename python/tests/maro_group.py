"""Proxies of MARO's kind in one process, each made in a thread of its own."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from muster.compat.maro import Proxy

LONG = 20_000  # Milliseconds: longer than anything takes.


class Group:
    """Makes proxies that find each other, and closes them."""

    def __init__(self) -> None:
        self.name = f"maro-{uuid.uuid4().hex}"
        self.threads = ThreadPoolExecutor(8)
        self.proxies: list[Proxy] = []

    def start(self, kind: str, peers: dict[str, int], **said: Any) -> "Future[Proxy]":
        return self.threads.submit(self._make, kind, peers, said)

    def _make(self, kind: str, peers: dict[str, int], said: dict[str, Any]) -> Proxy:
        proxy = Proxy(self.name, kind, peers, **said)
        self.proxies.append(proxy)
        return proxy

    def pair(self, **said: Any) -> tuple[Proxy, Proxy]:
        master = self.start("master", {"worker": 1}, **said)
        worker = self.start("worker", {"master": 1})
        return master.result(30), worker.result(30)

    def crew(self, count: int) -> tuple[Proxy, list[Proxy]]:
        master = self.start("master", {"worker": count})
        workers = [self.start("worker", {"master": 1}) for _ in range(count)]
        return master.result(30), [worker.result(30) for worker in workers]

    def run(self, work: Callable[..., Any], *args: Any) -> "Future[Any]":
        return self.threads.submit(work, *args)

    def close(self) -> None:
        for proxy in self.proxies:
            proxy.close()
        self.threads.shutdown()


@pytest.fixture(name="group")
def maro_group() -> Iterator[Group]:
    made = Group()
    yield made
    made.close()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def echo(proxy: Proxy, count: int) -> None:
    for _ in range(count):
        message = proxy.receive_once(LONG)
        assert message is not None
        proxy.reply(message, tag="done", body=[proxy.name, message.body])
