"""What is said to arrive without a copy lies where its sender's process has put it."""

from __future__ import annotations

import array
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE, Join

import muster
from muster import SessionType

NOTE = SessionType.NOTIFICATION
FROM = 64 << 10  # The least that is handed over.

# Says for each body what it is, and whether it lies in memory that processes share.
RECEIVER = """
import sys
import numpy as np
import muster

def is_shared(body):
    address = np.frombuffer(body, "u1").__array_interface__["data"][0]
    for line in open("/proc/self/maps"):
        bounds, flags = line.split()[:2]
        begin, end = (int(bound, 16) for bound in bounds.split("-"))
        if begin <= address < end:
            return flags[3] == "s"
    raise LookupError(address)

with muster.Proxy(sys.argv[1], "receiver", "receiver", expected=["main"], timeout=30) as proxy:
    for message in proxy.receive():
        if message.tag == "stop":
            break
        body = message.body if not isinstance(message.body, list) else message.body[0]
        view = memoryview(body)
        proxy.reply(message, [type(body).__name__, view.readonly, view.nbytes, is_shared(body)])
"""

BODIES: dict[str, Any] = {
    "array": lambda: np.ones(FROM, "u1"),
    "record": lambda: np.zeros(FROM // 8, [("a", "<i4"), ("b", "<f4")]),
    "strided": lambda: np.ones(2 * FROM, "u1")[::2],
    "empty": lambda: muster.empty(FROM, "u1"),
    "bytearray": lambda: bytearray(FROM),
    "memoryview": lambda: memoryview(bytes(FROM)),
    "array.array": lambda: array.array("d", bytes(FROM)),
}


@pytest.fixture
def receiver(join: Join, group: str) -> Any:
    main = join("main", "main")
    with subprocess.Popen([sys.executable, "-c", RECEIVER, group]) as child:
        main.wait_for_peers(["receiver"], PATIENCE)
        yield main
        main.isend("stop", "receiver", None, NOTE)
        assert child.wait(PATIENCE) == 0


def test_arrays_and_what_shows_its_memory_are_not_copied_by_the_receiver(receiver: Any) -> None:
    for name, make in BODIES.items():
        for body in (make(), [make()]):
            future = receiver.request("look", "receiver", body)
            assert future.result(PATIENCE).body == ["ndarray", True, FROM, True], name
    answer = receiver.send("look", "receiver", muster.empty(FROM, "u1"), PATIENCE)
    assert answer.body == ["ndarray", True, FROM, True]


@pytest.mark.parametrize("size", [FROM, 3 << 20])
def test_bytes_are_bytes_whatever_their_size_and_so_a_copy(receiver: Any, size: int) -> None:
    for body in (bytes(size), [bytes(size)]):
        said = receiver.send("look", "receiver", body, PATIENCE).body
        assert said == ["bytes", True, size, False]
