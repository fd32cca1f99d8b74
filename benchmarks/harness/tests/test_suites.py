"""The suites are data; this is what all of them must hold to."""

import unittest

from benchmarks.harness.suites import SUITES


class Suites(unittest.TestCase):
    def test_name_each_case_once(self) -> None:
        for suite in SUITES.values():
            names = [case.name for case in suite.cases]
            self.assertEqual(len(names), len(set(names)), suite.name)

    def test_give_every_case_something_to_be_held_against(self) -> None:
        for suite in SUITES.values():
            for case in suite.cases:
                bars = [peer for peer in case.peers if peer.at_least is not None]
                self.assertTrue(bars or case.limits, case.name)

    def test_name_each_peer_once_per_case(self) -> None:
        for suite in SUITES.values():
            for case in suite.cases:
                names = [peer.name for peer in case.peers]
                self.assertEqual(len(names), len(set(names)), case.name)


if __name__ == "__main__":
    unittest.main()
