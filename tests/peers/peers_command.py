"""`muster peers` as people use it: about processes that compute, stand still and end."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

MUSTER, HELLO = sys.argv.pop(1), sys.argv.pop(1)
PATIENCE_S = 60


class PeersCommand(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="muster-peers-")
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)
        keep = {key: value for key, value in os.environ.items() if not key.startswith("MUSTER_")}
        self.environment = {
            **keep,
            "XDG_CONFIG_HOME": folder.name,
            "XDG_RUNTIME_DIR": folder.name,
        }

    def run_muster(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [MUSTER, "peers", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def peers(self, *words: str) -> list[dict]:
        done = self.run_muster("hello", "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def start(self, role: str) -> subprocess.Popen[bytes]:
        """A member that waits for the other one, for half a minute."""
        process = subprocess.Popen([HELLO, role], env=self.environment, stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, what, *words: str) -> list[dict]:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = self.peers(*words)
            if what(found):
                return found
        self.fail(f"last seen: {found}")

    def test_tells_what_there_is_of_each_member(self) -> None:
        process = self.start("worker_1")
        (member,) = self.wait_for(len)
        self.assertEqual(member["name"], "worker_1")
        self.assertEqual(member["type"], "worker")
        self.assertEqual(member["incarnation"], 1)
        self.assertEqual(member["pid"], process.pid)
        self.assertIsNone(member["error"])
        self.assertTrue(any(address.startswith("shm://") for address in member["addresses"]))
        self.assertGreaterEqual(member["age_ms"], 0)
        self.assertEqual(member["last_beat_ms"], 0)
        for key in ("messages_sent", "bytes_received", "queued", "waiting", "peers"):
            self.assertIn(key, member)

        table = self.run_muster("hello")
        self.assertEqual(table.returncode, 0, table.stderr)
        lines = table.stdout.splitlines()
        self.assertEqual(len(lines), 2, table.stdout)
        self.assertTrue(lines[1].startswith("worker_1"))

        # It was not disturbed: the other one comes, and both end well.
        other = self.start("master")
        self.assertEqual(other.wait(PATIENCE_S), 0)
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_names_one_that_stands_still_and_why_it_says_nothing(self) -> None:
        process = self.start("worker_1")
        second = self.start("worker_2")
        self.wait_for(lambda found: len(found) == 2)
        # Not the one that serves the registry: that would be an outage.
        first, last = sorted((process, second), key=lambda one: self.serves(one.pid), reverse=True)
        last.send_signal(signal.SIGSTOP)
        found = self.peers("--wait", "0.5")
        last.send_signal(signal.SIGCONT)
        by_pid = {member.get("pid"): member for member in found}
        self.assertIn(first.pid, by_pid)
        if len(found) == 2:  # Its lease may have run out, on a slow machine.
            self.assertIsNotNone(by_pid[None]["error"])

    def serves(self, pid: int) -> bool:
        names = (os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir())
        return any(name.endswith("/hello/lock") for name in names)

    def test_a_group_of_nobody_is_empty_and_nothing_is_made_for_it(self) -> None:
        self.assertEqual(self.peers(), [])
        table = self.run_muster("hello")
        self.assertEqual(table.returncode, 0)
        self.assertIn("nobody", table.stdout)
        self.assertFalse((self.home / "muster" / "hello").exists())

    def test_wrong_use_is_told(self) -> None:
        self.assertEqual(self.run_muster("no such/group").returncode, 1)
        self.assertEqual(self.run_muster().returncode, 2)
        self.assertEqual(self.run_muster("hello", "--registry", "nonsense").returncode, 1)


if __name__ == "__main__":
    unittest.main()
