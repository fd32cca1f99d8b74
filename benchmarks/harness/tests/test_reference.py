"""Checking the peers against what they are known to reach."""

import json
import unittest

from benchmarks.harness.reference import TABLES, Reference, cpu_model, load
from benchmarks.harness.suites import SUITES

TABLE = Reference("a cpu", "a test", {"raw shm.rtt.awake": 1.0, "zmq shm.stream": 1000.0})

CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 207
model name\t: Some Xeon
"""


class Complaint(unittest.TestCase):
    def test_comes_when_a_time_is_too_long(self) -> None:
        complaint = TABLE.complaint("raw", "shm.rtt.awake", 1.4, lower_is_better=True)

        self.assertIn("raw shm.rtt.awake: 1.4", complaint or "")

    def test_comes_when_a_rate_is_too_small(self) -> None:
        self.assertIsNotNone(TABLE.complaint("zmq", "shm.stream", 740, lower_is_better=False))

    def test_stays_away_within_a_quarter(self) -> None:
        self.assertIsNone(TABLE.complaint("raw", "shm.rtt.awake", 1.33, lower_is_better=True))
        self.assertIsNone(TABLE.complaint("zmq", "shm.stream", 760, lower_is_better=False))

    def test_stays_away_when_the_peer_is_faster_than_expected(self) -> None:
        self.assertIsNone(TABLE.complaint("raw", "shm.rtt.awake", 0.1, lower_is_better=True))

    def test_stays_away_where_nothing_is_known(self) -> None:
        self.assertIsNone(TABLE.complaint("raw", "tcp.large", 1e9, lower_is_better=True))


class Tables(unittest.TestCase):
    def test_names_a_processor_by_vendor_family_and_model(self) -> None:
        self.assertEqual(cpu_model(CPUINFO), "GenuineIntel family 6 model 207")

    def test_has_none_for_an_unknown_processor(self) -> None:
        self.assertIsNone(load("unknown family unknown model unknown"))

    def test_has_the_processor_of_the_reference_measurements(self) -> None:
        table = load(cpu_model(CPUINFO))

        assert table is not None
        self.assertEqual(table.figures["zmq shm.rtt.awake"], 75.5)

    def test_holds_only_figures_that_some_suite_measures(self) -> None:
        measured = {
            f"{peer.name} {peer.case or case.name}"
            for suite in SUITES.values()
            for case in suite.cases
            for peer in case.peers
        }
        for cpu, table in json.loads(TABLES.read_text()).items():
            with self.subTest(cpu=cpu):
                self.assertLessEqual(set(table["figures"]), measured)


if __name__ == "__main__":
    unittest.main()
