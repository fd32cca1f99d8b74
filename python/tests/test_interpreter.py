"""Signals, threads and the end of the interpreter: nothing hangs."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from conftest import PATIENCE, Join
from crowded import crowded
from programs import check, run

from muster import Proxy, SessionType

NOTE = SessionType.NOTIFICATION

WAITS = {
    "receive_once": "proxy.receive_once()",
    "receive": "list(proxy.receive())",
    "send": "proxy.send('task', 'other')",
    "receive_by_id": "proxy.receive_by_id(proxy.isend('task', 'other'))",
    "collect": "proxy.collect([proxy.isend('task', 'other')], count=1)",
    "scatter": "proxy.scatter('task', {'other': 1})",
    "broadcast": "proxy.broadcast('task', 'other')",
    "future": "proxy.request('task', 'other').result()",
    "wait_for_peers": "proxy.wait_for_peers(['nobody'])",
    "join": "muster.Proxy(sys.argv[1], 'two', expected=['nobody'])",
    "launch": "muster.dist(proxy, {})(object)().launch()",
    "next_event": "[proxy.next_event() for _ in range(9)]",
}


@pytest.mark.parametrize("call", WAITS.values(), ids=WAITS.keys())
def test_ctrl_c_ends_what_waits(group: str, call: str) -> None:
    program = f"""
        import os, signal, sys, threading, muster
        proxy = muster.Proxy(sys.argv[1], "one")
        other = muster.Proxy(sys.argv[1], "other", "other", expected=[proxy.name])
        proxy.wait_for_peers(["other"])
        try:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            {call}
        except KeyboardInterrupt:
            print("interrupted")
        other.isend("still", proxy.name, "alive", muster.SessionType.NOTIFICATION)
        while (message := proxy.receive_once(20)).tag != "still":
            pass
        """
    check(run(program, group), "interrupted")


def test_an_interrupted_scatter_leaves_nothing_behind(group: str) -> None:
    program = """
        import os, signal, sys, threading, muster
        proxy = muster.Proxy(sys.argv[1], "one")
        other = muster.Proxy(sys.argv[1], "other", "other", expected=[proxy.name])
        proxy.wait_for_peers(["other"])
        before = proxy.counters["sessions"]
        for call in (lambda: proxy.scatter("task", {"other": 1}),
                     lambda: proxy.broadcast("task", "other")):
            try:
                threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
                call()
            except KeyboardInterrupt:
                print("interrupted", proxy.counters["sessions"] - before)
        """
    check(run(program, group), "interrupted 0\ninterrupted 0")


@pytest.mark.parametrize("call", ["reply", "leave"])
def test_ctrl_c_ends_what_waits_for_room(join: Join, call: str) -> None:
    a, _, task = crowded(join)
    interrupt = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    has_waited = True
    with pytest.raises(KeyboardInterrupt):
        a.reply(task) if call == "reply" else a.leave()
        has_waited = False
        interrupt.join()
    assert has_waited


def test_other_signals_run_their_handlers_while_a_call_waits(group: str) -> None:
    with Proxy(group, "one") as proxy:
        told: list[int] = []
        before = signal.signal(signal.SIGALRM, lambda number, _: told.append(number))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            assert proxy.receive_once(0.3) is None
        finally:
            signal.signal(signal.SIGALRM, before)
        assert told == [signal.SIGALRM]


def test_threads_run_while_one_waits(join: Join) -> None:
    a, b = join("one", "a"), join("two", "b")
    a.wait_for_peers(["b"], PATIENCE)
    total = 400
    got: list[object] = []
    lock = threading.Lock()

    def receive() -> None:
        while True:
            message = b.receive_once(PATIENCE)
            assert message is not None
            if message.tag == "stop":
                return
            with lock:
                got.append(message.body)

    def send(number: int) -> None:
        for i in range(total // 4):
            a.isend("n", "b", (number, i), NOTE)

    threads = [threading.Thread(target=receive) for _ in range(3)]
    threads += [threading.Thread(target=send, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads[3:]:
        thread.join()
    for _ in range(3):
        a.isend("stop", "b", None, NOTE)
    for thread in threads[:3]:
        thread.join()
    assert len(got) == total
    assert len({tuple(item) for item in got}) == total  # type: ignore[arg-type]


def test_what_was_sent_before_the_end_arrives(join: Join, group: str) -> None:
    proxy = join("main", "main")
    program = """
        import sys, muster, numpy as np
        proxy = muster.Proxy(sys.argv[1], "child", "child", expected=["main"])
        for i in range(100):
            proxy.isend("n", "main", np.full(1000, i), muster.SessionType.NOTIFICATION)
        """
    check(run(program, group), "")
    bodies = [proxy.receive_once(PATIENCE) for _ in range(100)]
    assert [int(message.body[-1]) for message in bodies if message] == list(range(100))
    kinds: list[str] = []
    while "left" not in kinds and "lost" not in kinds:
        event = proxy.next_event(PATIENCE)
        assert event is not None
        kinds.append(event.kind)
    assert kinds[-1] == "left"


def test_the_interpreter_ends_with_threads_inside_calls(group: str) -> None:
    program = """
        import sys, threading, muster
        proxy = muster.Proxy(sys.argv[1], "one")
        @muster.dist(muster.Proxy(sys.argv[1], "two"), {})
        class Two: pass
        def receive():
            while True:
                try:
                    proxy.receive_once()
                except muster.CancelledError:
                    pass
        def launch():
            Two().launch()
        def next_event():
            while True:
                proxy.next_event()
        works = (receive, launch, next_event)
        threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        def is_inside(thread):
            # Somewhere in its call: this thread runs only when that one lets it.
            frame = sys._current_frames().get(thread.ident)
            names = set()
            while frame is not None:
                names.add(frame.f_code.co_name)
                frame = frame.f_back
            return not names.isdisjoint({"receive", "launch", "next_event"})
        while not all(is_inside(thread) for thread in threads):
            pass
        kept = muster.empty(100000)
        print("over")
        """
    assert (done := run(program, group)).returncode == 0, done
    assert done.stdout == "over\n"


def test_the_interpreter_ends_while_a_thread_is_told_of_an_event(group: str) -> None:
    program = """
        import sys, threading, muster
        is_told = threading.Event()
        def listen(event):
            is_told.set()
            while True:
                pass
        one = muster.Proxy(sys.argv[1], "one", "one", on_event=listen)
        two = muster.Proxy(sys.argv[1], "two", expected=["one"])
        threading.Thread(target=one.receive_once, daemon=True).start()
        is_told.wait()
        print("over")
        """
    for _ in range(10):  # One in six comes for the lock when the interpreter has ended already.
        check(run(program, group), "over")


def test_the_interpreter_ends_while_threads_want_its_lock_back(group: str) -> None:
    program = """
        import sys, threading, muster, numpy as np
        alone = muster.Communicator(sys.argv[1], 0, 1)
        begun = threading.Semaphore(0)
        def reduce():
            ones = np.ones(1000)
            while True:
                alone.all_reduce(ones)
                begun.release()
        for _ in range(8):
            threading.Thread(target=reduce, daemon=True).start()
        for _ in range(100):
            begun.acquire()
        print("over")
        """
    for _ in range(5):  # Not every end comes while one of them waits.
        check(run(program, group), "over")


def test_the_interpreter_ends_while_a_thread_drops_proxies(group: str) -> None:
    program = """
        import atexit, sys, threading, muster
        proxies = [muster.Proxy(sys.argv[1], "many", waits=False) for _ in range(40)]
        is_ending = threading.Event()
        def drop():
            is_ending.wait()
            while proxies:
                proxies.pop()
        threading.Thread(target=drop, daemon=True).start()
        atexit.register(is_ending.set)
        print("over")
        """
    check(run(program, group), "over")


def test_the_interpreter_ends_while_threads_are_joining(group: str, tmp_path: Path) -> None:
    program = """
        import sys, threading, muster
        group, folder = sys.argv[1:]
        calls = [
            lambda: muster.Proxy(group, "one", expected=["nobody"]),
            lambda: muster.Proxy(group, "two", expected=["nobody"], registry=folder),
            lambda: muster.Communicator(group + "-ranks", 0, 2),
            lambda: muster.Communicator(group + "-ranks", 0, 2, registry=folder),
            lambda: muster.Communicator.over(proxies[0], "more", [proxies[0].name, "nobody"]),
        ]
        proxies = [muster.Proxy(group, "main"), muster.Proxy(group, "main", registry=folder)]
        for call in calls:
            threading.Thread(target=call, daemon=True).start()
        proxies[0].wait_for_peers({"one": 1}, 20)
        proxies[1].wait_for_peers({"two": 1}, 20)
        print("over")
        """
    elsewhere, registry = tmp_path / "elsewhere", tmp_path / "registry"
    elsewhere.mkdir()
    registry.mkdir(mode=0o700)
    check(run(program, group, str(registry), folder=elsewhere), "over")
    assert list(elsewhere.iterdir()) == []  # Nothing was written to a name that is gone.


def test_the_interpreter_ends_with_everything_still_in_use(group: str) -> None:
    program = """
        import asyncio, sys, muster, numpy as np
        a = muster.Proxy(sys.argv[1], "one", "a")
        b = muster.Proxy(sys.argv[1], "two", "b", expected=["a"])
        a.wait_for_peers(["b"])
        future = a.request("task", "b", np.zeros(100000))
        message = b.receive_once(20)
        component = muster.dist(b, {"x": print})(object)()
        loan = a.isend("x", "b", np.zeros(1000000), borrow=True)
        array = message.body
        a.self = a
        print(array.sum())
        """
    check(run(program, group), "0.0")


def test_a_proxy_may_be_dropped_without_a_word(group: str, join: Join) -> None:
    main = join("main", "main")
    dropped = Proxy(group, "other", "dropped", expected=["main"], timeout=PATIENCE)
    main.wait_for_peers(["dropped"], PATIENCE)
    dropped.isend("last", "main", "words", NOTE)
    del dropped
    message = main.receive_once(PATIENCE)
    assert message is not None and message.body == "words"


def test_importing_costs_little_and_starts_nothing() -> None:
    program = """
        import os, sys, time
        import numpy
        threads, descriptors = os.listdir("/proc/self/task"), os.listdir("/proc/self/fd")
        begin = time.process_time()
        import muster
        spent = time.process_time() - begin
        assert os.listdir("/proc/self/task") == threads
        assert os.listdir("/proc/self/fd") == descriptors
        print(spent < 0.25)
        """
    check(run(program), "True")


def test_a_blocked_call_does_not_hold_the_interpreter(group: str) -> None:
    with Proxy(group, "one") as proxy:
        done = threading.Event()

        def wait() -> None:
            proxy.receive_once(0.5)
            done.set()

        thread = threading.Thread(target=wait)
        thread.start()
        steps = 0
        begin = time.monotonic()
        while not done.is_set() and time.monotonic() - begin < PATIENCE:
            steps += 1
        thread.join()
        assert steps > 100


def test_a_pool_without_threads_is_an_error(group: str) -> None:
    program = """
        import ctypes, sys, muster
        libc, before, huge = ctypes.CDLL(None), bytes(256), bytes(256)
        libc.pthread_getattr_default_np(before)
        libc.pthread_attr_init(huge)
        libc.pthread_attr_setstacksize(huge, ctypes.c_size_t(1 << 47))
        @muster.dist(muster.Proxy(sys.argv[1], "one"), {}, pool=2)
        class One: pass
        one = One()
        for attributes in (huge, before):
            libc.pthread_setattr_default_np(attributes)
            try:
                one.launch(0.02)
            except (muster.OverloadedError, muster.TimedOutError) as raised:
                print(type(raised).__name__)
        """
    check(run(program, group), "OverloadedError\nTimedOutError")
