"""Whole programs that were written for MARO, with nothing changed but their imports."""

import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import muster
from muster.compat.maro import Proxy

IMPORTS = "from muster.compat.maro import *\nfrom muster.compat.maro import dist, Proxy\n"

# The page on the general framework, with its two typos mended: `msg` for `message`, and
# `Messsage`.
EARLY_WORKER = """
class LocalWorker:
    def __init__(self):
        pass

proxy = Proxy(group_name='hello_world', component_name='worker',
              peer_name_list=['runner'], redis_address=('localhost', 6379))

def on_hello(local_instance, proxy, message):
    print(f'received a {message.type} message from {message.src}')
    proxy.send(message.source, Message(type_='hello_back', body=None))

handler_dict = {'hello': on_hello}

Worker = dist(proxy, handler_dict)(LocalWorker)
Worker().launch()
"""
EARLY_RUNNER = """
import os
proxy = Proxy(group_name='hello_world', component_name='runner',
              peer_name_list=['worker'], redis_address=('localhost', 6379))
proxy.join()
proxy.send('worker', Message(type_='hello', body=None))
message = proxy.receive_once()
print(f'received a {message.type} message from {message.src}')
"""

# The page on the toolkit. Its handler does nothing; here it says so, and ends.
WORKER = """
import sys
message = Message(tag="check_in",
                  source="worker_001",
                  destination="master",
                  body="")
task_message = SessionMessage(tag="sum",
                              source="master",
                              destination="worker_001",
                              body=[0, 1, 2, ...],
                              session_type=SessionType.TASK)
notification_message = SessionMessage(tag="check_out",
                                      source="worker_001",
                                      destination="master",
                                      body="",
                                      session_type=SessionType.NOTIFICATION)

# Initialize proxy instance for remote communication.
proxy = Proxy(group_name="master-worker",
              component_type="worker",
              expected_peers=[("master", 1)])

# Declare the trigger condition of rollout event.
rollout_event = "master:rollout:1"

# Implement rollout event handler logic.
def on_rollout(that, proxy, messages):
    print(f"rollout {messages[0].body}")
    proxy.reply(messages[0], body="rolled out")
    sys.exit(0)

# Assemble event-handler directory.
handler_dict = {rollout_event: on_rollout}

# Convert a local functional class to a distributed one.
@dist(proxy, handler_dict)
class Worker:
    def __init__(self):
        pass

Worker().launch()
"""
MASTER = """
proxy = Proxy(group_name="master-worker", component_type="master", expected_peers={"worker": 2})
replies = proxy.scatter(tag="rollout", session_type=SessionType.TASK,
                        destination_body_list=[(name, [0, 1]) for name in proxy.peers["worker"]])
print(sorted(reply.body for reply in replies))
"""

# How programs for 0.1 and 0.2 look.
FIRST = """
import sys
def worker():
    proxy = Proxy(group_name="first", component_type="worker", expected_peers={"master": 1},
                  log_enable=False)
    for msg in proxy.receive(is_continuous=False):
        if msg.tag == "INC":
            proxy.reply(received_message=msg, tag="done", payload=proxy.component_name)

def master():
    proxy = Proxy(group_name="first", component_type="master", expected_peers={"worker": 2},
                  max_retries=10, base_retry_interval=0.1, fault_tolerant=False)
    names = sorted(proxy.get_peers("worker"))
    ids = proxy.ibroadcast(tag="INC", session_type=SessionType.NOTIFICATION)
    replies = proxy.receive_by_id(ids)
    print(sorted(reply.payload for reply in replies) == names)
    print({reply.session_stage.value for reply in replies})

master() if sys.argv[1] == "master" else worker()
"""
SECOND = """
import sys, random
def worker():
    proxy = Proxy(group_name="second", component_type="worker", expected_peers={"master": 1},
                  log_enable=False)
    table = RegisterTable(proxy.peers_name)
    table.register_event_handler("master:sum:1", lambda messages: [
        proxy.reply(message, payload=sum(message.payload)) for message in messages])
    for message in proxy.receive(is_continuous=False):
        table.push(message)

def master():
    proxy = Proxy(group_name="second", component_type="master", expected_peers={"worker": 2},
                  max_retries=10, retry_interval_base_value=0.1)
    pairs = [(name, [1, 2, 3]) for name in proxy.peers_name["worker"]]
    ids = proxy.iscatter(tag="sum", session_type=SessionType.TASK, destination_payload_list=pairs)
    print([reply.payload for reply in proxy.receive_by_id(ids, timeout=-1)])
    proxy.close()

master() if sys.argv[1] == "master" else worker()
"""


def start(folder: Path, text: str, *words: str) -> "subprocess.Popen[str]":
    program = folder / f"{uuid.uuid4().hex}.py"
    program.write_text(IMPORTS + text)
    return subprocess.Popen(
        [sys.executable, "-u", str(program), *words], stdout=subprocess.PIPE, text=True, cwd=folder
    )


def printed(*processes: "subprocess.Popen[str]") -> list[str]:
    said = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), said
    return said


def test_the_early_form_greets_and_is_greeted(tmp_path: Path) -> None:
    worker = start(tmp_path, EARLY_WORKER)
    try:
        assert printed(start(tmp_path, EARLY_RUNNER)) == [
            "received a hello_back message from worker\n"
        ]
        assert worker.stdout is not None
        assert worker.stdout.readline() == "received a hello message from runner\n"
    finally:
        worker.kill()
        worker.communicate()


def test_the_pages_worker_rolls_out_and_exits_as_its_handler_says(tmp_path: Path) -> None:
    workers = [start(tmp_path, WORKER) for _ in range(2)]
    master = start(tmp_path, MASTER)
    said = printed(master, *workers)
    assert said == ["['rolled out', 'rolled out']\n", "rollout [0, 1]\n", "rollout [0, 1]\n"]


@pytest.mark.parametrize(
    ("text", "said"),
    [(FIRST, "True\n{'notification_receive'}\n"), (SECOND, "[6, 6]\n")],
    ids=["0.1", "0.2"],
)
def test_programs_of_earlier_versions_run(tmp_path: Path, text: str, said: str) -> None:
    workers = [start(tmp_path, text, "worker") for _ in range(2)]
    master = start(tmp_path, text, "master")
    assert printed(master, *workers) == [said, "", ""]


# How programs for 0.3 look: processes of multiprocessing, started anew.
THIRD = """
import multiprocessing as mp

def worker(group_name):
    proxy = Proxy(group_name=group_name, component_type="worker", expected_peers={"master": 1})
    msg = proxy.receive_once()
    proxy.reply(message=msg, tag="done", body=sum(msg.body))

def master(group_name, worker_num):
    proxy = Proxy(group_name=group_name, component_type="master",
                  expected_peers={"worker": worker_num}, driver_type=DriverType.ZMQ,
                  initial_peer_discovery_retry_interval=0.1, max_peer_discovery_retries=10)
    ids = proxy.ibroadcast(component_type="worker", tag="sum", session_type=SessionType.TASK,
                           body=[1, 2, 3])
    replied = proxy.receive_by_id(ids, timeout=-1)
    print([msg.body for msg in replied], {msg.session_stage.name for msg in replied})

if __name__ == "__main__":
    mp.set_start_method("spawn")
    workers = mp.Pool(2)
    master_process = mp.Process(target=master, args=("third", 2))
    master_process.start()
    workers.map(worker, ["third"] * 2)
    workers.close()
    master_process.join()
    workers.join()
"""


def test_a_program_of_spawned_processes_runs(tmp_path: Path) -> None:
    assert printed(start(tmp_path, THIRD)) == ["[6, 6] {'COMPLETE'}\n"]


STRANGER = """
import os, sys
class Trap:
    def __reduce__(self):
        return os.mkdir, (sys.argv[2],)
proxy = Proxy(sys.argv[1], "master", {"worker": 1}, max_retries=4, base_retry_interval=0.1)
proxy.isend(SessionMessage("t", proxy.name, proxy.peers["worker"][0], Trap()))
"""


def test_a_pickle_is_read_from_a_member_and_never_from_a_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap, group = tmp_path / "trap", f"maro-{uuid.uuid4().hex}"
    core = muster.Proxy(group, "worker", name="worker_1")  # So that there is somebody to meet.
    stranger_home = tmp_path / "config"
    stranger_home.mkdir(mode=0o700)
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_CONFIG_HOME", str(stranger_home))
        stranger = start(tmp_path, STRANGER, group, str(trap))
    stranger.communicate(timeout=60)
    assert stranger.returncode != 0
    assert core.peer_names("master") == [] and core.receive_once(timeout=0) is None
    core.leave(timeout=20)

    with ThreadPoolExecutor() as threads:
        joining = threads.submit(Proxy, group, "worker", {"master": 1}, "worker_2")
        assert printed(start(tmp_path, STRANGER, group, str(trap))) == [""]
        worker = joining.result(60)
        worker.receive_once(20_000)
    assert trap.is_dir()
    worker.close()
