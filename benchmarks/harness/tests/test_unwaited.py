"""Helpers that nobody waits for are told of, others are not."""

import subprocess
import sys
import unittest

from benchmarks.python.unwaited import unwaited_seconds

SPINS = (
    "import sys, time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\nsys.stdin.read()"
)
DAEMON = """
import signal, subprocess, sys
signal.signal(signal.SIGCHLD, getattr(signal, sys.argv[1]))
subprocess.Popen([sys.executable, "-c", sys.argv[2]], restore_signals=True).wait()
"""


class UnwaitedSeconds(unittest.TestCase):
    def of_a_daemon(self, does: str) -> float:
        with subprocess.Popen(
            [sys.executable, "-c", DAEMON, does, SPINS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as daemon:
            daemon.stdout.readline()  # Its child has done its work.
            return unwaited_seconds()

    def test_are_those_of_a_daemon_that_ignores_its_childrens_end(self) -> None:
        self.assertGreater(self.of_a_daemon("SIG_IGN"), 0.1)

    def test_are_none_where_everybody_waits(self) -> None:
        self.assertEqual(self.of_a_daemon("SIG_DFL"), 0.0)


if __name__ == "__main__":
    unittest.main()
