"""Children by fork and by spawn: they have their own, and leave the parent's alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from conftest import PATIENCE, Join
from programs import check, run

import muster
from muster import Proxy, SessionType

NOTE = SessionType.NOTIFICATION


CHILD = """
import multiprocessing, os, sys
import numpy as np
import muster

def work(group, how):
    with muster.Proxy(group, "child", expected=["main"], timeout=30) as proxy:
        array = muster.empty(100_000)
        array[:] = 2
        answer = proxy.send("task", "main", {"how": how, "array": array}, 30)
        assert answer.body == "thanks", answer.body

if __name__ == "__main__":
    group = sys.argv[1]
    with muster.Proxy(group, "main", "main") as main:
        kept = muster.empty(100_000)
        kept[:] = 1
        for how in ("fork", "spawn"):
            child = multiprocessing.get_context(how).Process(target=work, args=(group, how))
            child.start()
            message = main.receive_once(30)
            assert message.body["array"].sum() == 200_000
            main.reply(message, "thanks")
            child.join(30)
            print(message.body["how"], child.exitcode)
        assert kept.sum() == 100_000
"""


def test_children_by_fork_and_by_spawn_have_proxies_of_their_own(
    group: str, script: Callable[[str], Path]
) -> None:
    done = subprocess.run(
        [sys.executable, str(script(CHILD)), group],
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "fork 0\nspawn 0\n", "")


def test_a_forked_child_leaves_the_parents_alone(join: Join) -> None:
    a, b = join("one", "a"), join("two", "b")
    a.wait_for_peers(["b"], PATIENCE)
    a.isend("x", "b", muster.empty(100_000), NOTE)
    message = b.receive_once(PATIENCE)
    assert message is not None
    array = message.body
    future = a.request("task", "b")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            try:
                a.isend("x", "b")
            except muster.InvalidError:
                array.sum()
                del array, message, future
                status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    (request,) = [b.receive_once(PATIENCE)]
    assert request is not None
    b.reply(request, array[:3])
    assert len(future.result(PATIENCE).body) == 3


def test_futures_are_of_no_use_in_a_child(pair: tuple[Proxy, Proxy], group: str) -> None:
    a, b = pair
    asked = a.request("x", "b")
    lent = a.isend("y", "b", np.zeros(1 << 17), NOTE, borrow=True)
    with muster.Communicator(group, rank=0, size=1) as alone:
        operation = alone.iall_reduce(np.ones(1 << 17))
        calls = [asked.done, asked.result, lent.done, lent.result, operation.done, operation.result]
        pid = os.fork()
        if pid == 0:
            right = 0
            signal.alarm(int(PATIENCE))
            try:
                for call in calls:
                    try:
                        call()
                    except muster.InvalidError as raised:
                        right += "in a child of its process" in str(raised)
            finally:
                os._exit(right)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == len(calls)
        operation.result(PATIENCE)


def test_a_child_that_was_forked_may_end_as_any_program_does(group: str) -> None:
    program = """
        import os, sys, threading, muster
        proxy = muster.Proxy(sys.argv[1], "one")
        threading.Thread(target=proxy.receive_once, daemon=True).start()
        array = muster.empty(100000)
        pid = os.fork()
        if pid == 0:
            proxy = array = None
            child = muster.Proxy(sys.argv[1], "two")
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    assert (done := run(program, group)).returncode == 0, done
    assert done.stdout == "7\n"


def test_a_child_may_end_inside_the_block_of_its_parents_proxy(group: str) -> None:
    program = """
        import os, sys, muster
        with muster.Proxy(sys.argv[1], "one") as proxy:
            pid = os.fork()
            if pid == 0:
                sys.exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), proxy.is_joined)
        """
    check(run(program, group), "7 True")


def test_a_parents_proxy_makes_no_communicator_in_a_child(join: Join) -> None:
    proxy = join("one", "a")
    pid = os.fork()
    if pid == 0:
        status = 1
        signal.alarm(int(PATIENCE))
        try:
            muster.Communicator.over(proxy, "alone", ["a"])
        except muster.InvalidError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
