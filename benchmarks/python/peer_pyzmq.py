"""bench_pyzmq, and bench_pyzmq-nocopy: the same cases over pyzmq, with msgpack for dicts."""

import os
import sys
import tempfile
from multiprocessing import get_context
from typing import Any

import msgpack
import numpy as np
import zmq

from benchmarks.python import work
from benchmarks.python.contract import Children, Sample, clock, main

COPIES = "nocopy" not in os.path.basename(os.environ.get("BENCH_NAME", ""))


def address(kind: str) -> str:
    if kind == "tcp":
        return f"tcp://127.0.0.1:{20000 + os.getpid() % 20000}"
    return f"ipc://{tempfile.gettempdir()}/bench-zmq-{os.getpid()}"


def bound(kind: int, where: str) -> zmq.Socket:
    socket = zmq.Context.instance().socket(kind)
    socket.bind(where)
    return socket


def connected(kind: int, where: str) -> zmq.Socket:
    socket = zmq.Context.instance().socket(kind)
    socket.connect(where)
    return socket


def serve_tasks(where: str) -> None:
    socket = connected(zmq.PAIR, where)
    while True:
        body = msgpack.unpackb(socket.recv())
        if body is None:
            return
        socket.send(msgpack.packb(body))


def tasks(seconds: float, where: str) -> Sample:
    with Children() as children:
        children.start(serve_tasks, where)
        socket = bound(zmq.PAIR, where)

        def call(body: Any) -> Any:
            socket.send(msgpack.packb(body))
            return msgpack.unpackb(socket.recv())

        result = work.time_tasks(call, seconds)
        socket.send(msgpack.packb(None))
        return result


def send_stream(where: str, make: Any, seconds: float, pack: Any, has_come: Any) -> None:
    socket = connected(zmq.PUSH, where)
    send = socket.send
    work.send_stream((lambda body: send(pack(body))) if pack else send, make, seconds)
    # A receiver that is behind loses what it has not read when the other end closes.
    has_come.wait(20)
    socket.close(linger=0)
    zmq.Context.instance().term()


def stream(seconds: float, where: str, make: Any, read: Any, pack: Any, unpack: Any) -> Sample:
    has_come = get_context("fork").Event()
    with Children() as children:
        children.start(send_stream, where, make, seconds, pack, has_come)
        socket = bound(zmq.PULL, where)
        recv = socket.recv

        def bodies() -> Any:
            while True:
                yield unpack(recv()) if unpack else recv()

        rate = work.rate(work.count_stream(bodies(), read))
        has_come.set()
        return rate


def as_array(frame: Any) -> np.ndarray:
    return np.frombuffer(frame if COPIES else frame.buffer)


def take_arrays(where: str) -> None:
    socket = connected(zmq.PAIR, where)
    while True:
        number = int(socket.recv())
        if number == 0:
            return
        work.total(as_array(socket.recv(copy=COPIES)), number)
        socket.send(repr(clock()).encode())


def large(seconds: float, where: str) -> Sample:
    with Children() as children:
        children.start(take_arrays, where)
        socket = bound(zmq.PAIR, where)
        array = np.empty(work.LARGE // 8)

        def hand_over(number: int) -> tuple[float, float]:
            work.fill(array, number)
            begin = clock()
            socket.send(str(number).encode(), zmq.SNDMORE)
            socket.send(array, copy=COPIES)
            return begin, float(socket.recv())

        result = work.time_arrays(hand_over, seconds, "ms")
        socket.send(b"0")
        return result


def subscribe(where: str, back: str) -> None:
    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.setsockopt(zmq.SUBSCRIBE, b"")
    socket.connect(where)
    answers = connected(zmq.PUSH, back)
    answers.send(b"0.0")
    while True:
        number = int(socket.recv())
        if number == 0:
            return
        work.glance(as_array(socket.recv(copy=COPIES)), number)
        answers.send(repr(clock()).encode())


def broadcast(seconds: float, where: str) -> Sample:
    back = where + "-back"
    with Children() as children:
        for _ in range(8):
            children.start(subscribe, where, back)
        socket = bound(zmq.PUB, where)
        socket.setsockopt(zmq.SNDHWM, 0)
        answers = bound(zmq.PULL, back)
        for _ in range(8):
            answers.recv()
        # Subscriptions are on their way; a first round that all have heard shows that they came.
        import time

        time.sleep(0.3)
        array = np.empty(work.LARGE // 8)

        def hand_over(number: int) -> tuple[float, float]:
            work.fill(array, number)
            begin = clock()
            socket.send(str(number).encode(), zmq.SNDMORE)
            socket.send(array, copy=COPIES)
            return begin, max(float(answers.recv()) for _ in range(8))

        result = work.time_arrays(hand_over, seconds, "ms")
        socket.send(b"0")
        return result


CASES = {
    "py.task.shm": lambda s: tasks(s, address("ipc")),
    "py.task.tcp": lambda s: tasks(s, address("tcp")),
    "py.stream": lambda s: stream(s, address("ipc"), work.small, work.read_small, None, None),
    "py.stream.dict": lambda s: stream(
        s,
        address("ipc"),
        work.small_dict,
        work.read_small_dict,
        msgpack.packb,
        msgpack.unpackb,
    ),
    "py.large": lambda s: large(s, address("ipc")),
    "py.broadcast": lambda s: broadcast(s, address("ipc")),
}

if __name__ == "__main__":
    if sys.argv[1:] and not COPIES and sys.argv[1] != "--list":
        CASES = {name: CASES[name] for name in ("py.large", "py.broadcast")}
    main(CASES)
