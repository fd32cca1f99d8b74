"""A program with types, as a user writes it: mypy takes it, and it does what they say."""

from __future__ import annotations

import sys
from typing import Generic, TypeVar, assert_type

import muster
from muster import Message, Proxy, SessionType

T = TypeVar("T")


def on_sum(local_instance: Worker, proxy: Proxy, messages: list[Message]) -> int:
    local_instance.done += 1
    return sum(messages[0].body)


def on_stop(local_instance: Worker, proxy: Proxy, messages: list[Message]) -> None:
    raise muster.Stop


proxy = Proxy(sys.argv[1], "worker", "worker")


@muster.dist(proxy, {"master:sum:1": on_sum, "stop": on_stop})
class Worker:
    """Adds up."""

    limit = 3

    def __init__(self, done: int = 0) -> None:
        self.done = done

    def remaining(self) -> int:
        return self.limit - self.done


@muster.dist(proxy, {})
class Box(Generic[T]):
    """Has a word of its own for what the component has too."""

    def __init__(self, content: T) -> None:
        self.content = content

    def stop(self) -> str:
        return "its own"


def main() -> None:
    worker = Worker(done=1)
    with Proxy(proxy.group, "master", expected=["worker"]) as master:
        future = master.request("sum", "worker", [1, 2, 3])
        master.isend("stop", "worker", None, SessionType.NOTIFICATION)
        worker.launch(timeout=30)
        assert future.result(30).body == 6
    worker.stop()
    assert_type(worker.done, int)
    worker.done += 1
    assert_type(worker.remaining(), int)
    assert_type(worker.proxy, Proxy)
    assert_type(worker.local_instance, Worker)
    assert_type(worker.is_partial, bool)
    assert_type(Worker.limit, int)
    assert isinstance(worker, Worker) and worker.remaining() == 0
    assert_type(Box(1.5).content, float)
    assert_type(Box("x").local_instance, Box[str])
    assert_type(Box("x").local_instance.stop(), str)


class Named(Proxy):
    """A user's own."""

    label = "mine"


def with_own_proxy(group: str) -> str:
    with Named(group, "worker") as own:
        return own.label


def wrong(worker: Worker) -> None:
    """What mypy does not take: it says so if one of these is no error any more."""
    worker.launch("soon")  # type: ignore[arg-type]
    worker.lunch()  # type: ignore[attr-defined]
    worker.proxy = proxy  # type: ignore[misc]
    Worker(done="none")  # type: ignore[arg-type]
    worker.done = "none"  # type: ignore[assignment]


if __name__ == "__main__":
    main()
    proxy.leave(5)
    print("done")
