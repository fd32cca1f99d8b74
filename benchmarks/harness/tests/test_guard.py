"""Whether somebody else used the machine."""

import subprocess
import sys
import unittest

from benchmarks.harness.guard import CpuTimes, Guard, children_seconds, foreign_share, parse_stat

# user nice system idle iowait irq softirq steal guest guest_nice
STAT = "cpu  100 10 50 800 40 2 8 30 70 5\ncpu0 1 1 1 1 1 1 1 1 0 0\n"


class ParseStat(unittest.TestCase):
    def test_counts_everything_but_idle_and_iowait_as_busy(self) -> None:
        times = parse_stat(STAT, 100)

        self.assertAlmostEqual(times.busy, 2.0)

    def test_does_not_count_guest_time_twice(self) -> None:
        self.assertAlmostEqual(parse_stat(STAT, 100).total, 10.4)

    def test_refuses_what_is_not_the_line_of_all_processors(self) -> None:
        with self.assertRaises(ValueError):
            parse_stat("cpu0 1 2 3 4 5 6 7 8 0 0\n", 100)


class ForeignShare(unittest.TestCase):
    def test_is_what_was_busy_and_not_our_own(self) -> None:
        share = foreign_share(CpuTimes(10, 100), CpuTimes(11.5, 102), own=1.0)

        self.assertAlmostEqual(share, 0.25)

    def test_is_nothing_when_all_the_work_was_ours(self) -> None:
        self.assertEqual(foreign_share(CpuTimes(0, 0), CpuTimes(2, 2), own=2.0), 0.0)

    def test_is_not_negative_when_ticks_round_down(self) -> None:
        self.assertEqual(foreign_share(CpuTimes(0, 0), CpuTimes(1.98, 2), own=2.0), 0.0)

    def test_distrusts_a_time_too_short_to_tell(self) -> None:
        self.assertEqual(foreign_share(CpuTimes(5, 9), CpuTimes(5, 9), own=0.0), 1.0)


class GuardOfASample(unittest.TestCase):
    def test_takes_what_nobody_waited_for_as_the_samples_own(self) -> None:
        guard = Guard()
        guard._end = CpuTimes(guard._start.busy + 3, guard._start.total + 4)

        self.assertAlmostEqual(guard.foreign(), 0.75)
        self.assertAlmostEqual(guard.foreign(unwaited=2.0), 0.25)


class ChildrenSeconds(unittest.TestCase):
    def test_holds_the_time_of_a_grandchild_that_was_waited_for(self) -> None:
        spin = "import time\nwhile time.process_time() < 0.1: pass"
        before = children_seconds()
        subprocess.run(["sh", "-c", '"$0" -c "$1"; true', sys.executable, spin], check=True)

        self.assertGreater(children_seconds() - before, 0.1)


if __name__ == "__main__":
    unittest.main()
