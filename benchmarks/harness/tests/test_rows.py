"""From samples to the lines of the result."""

import unittest

from benchmarks.harness.program import ProgramError, Sample
from benchmarks.harness.rows import limit_row, peer_row
from benchmarks.harness.sampling import Rounds
from benchmarks.harness.suite import Case, Limit, Peer


def times(ours: list[float], raw: list[float], unit: str = "us") -> Rounds:
    return Rounds(
        [
            {"muster": Sample(mine, "us", True), "raw": Sample(theirs, unit, True)}
            for mine, theirs in zip(ours, raw, strict=True)
        ]
    )


def crowd(*shares: float) -> Rounds:
    return Rounds([{"muster": Sample(9e4, "msg/s", False, {"share": s})} for s in shares])


CASE = Case("shm.rtt.awake")


class PeerRow(unittest.TestCase):
    def test_takes_the_median_of_the_ratios_not_the_ratio_of_medians(self) -> None:
        row = peer_row(CASE, Peer("raw", 0.5), times([1, 10, 100], [2, 10, 10]))

        assert row is not None
        self.assertEqual((row.speed, row.ours, row.theirs), (1.0, 10, 10))
        self.assertEqual(row.pairs, 3)

    def test_meets_a_bar_that_it_just_reaches(self) -> None:
        for bar, met in ((0.5, True), (0.51, False), (None, True)):
            row = peer_row(CASE, Peer("raw", bar), times([2], [1]))

            assert row is not None
            self.assertEqual(row.met, met)

    def test_prints_the_promised_keys_and_no_other(self) -> None:
        row = peer_row(CASE, Peer("raw", 0.5), times([2], [1]))

        assert row is not None
        self.assertEqual(
            row.to_json(),
            {
                "case": "shm.rtt.awake",
                "peer": "raw",
                "ours": 2,
                "theirs": 1,
                "unit": "us",
                "speed": 0.5,
                "low": 0.5,
                "high": 0.5,
            },
        )

    def test_says_when_the_bar_is_missed(self) -> None:
        row = peer_row(CASE, Peer("raw", 0.6), times([2], [1]))

        assert row is not None
        self.assertRegex(row.to_line(), r"raw +0\.500x .* ours 2, theirs 1 us +bar 0\.6: MISSED$")

    def test_refuses_to_divide_different_units(self) -> None:
        with self.assertRaises(ProgramError):
            peer_row(CASE, Peer("raw", 0.5), times([2], [1], unit="ms"))

    def test_is_none_without_a_pair(self) -> None:
        self.assertIsNone(peer_row(CASE, Peer("raw"), Rounds([{}])))


class LimitRow(unittest.TestCase):
    def test_is_faster_than_one_below_the_limit(self) -> None:
        row = limit_row(CASE, Limit(20, "us"), times([5, 5, 5], [1, 1, 1]))

        assert row is not None
        self.assertEqual((row.peer, row.theirs, row.speed, row.met), ("limit", 20, 4.0, True))

    def test_is_missed_above_the_limit(self) -> None:
        row = limit_row(CASE, Limit(20, "us"), times([21], [1]))

        assert row is not None
        self.assertFalse(row.met)

    def test_may_ask_for_at_least_so_much_of_an_extra_figure(self) -> None:
        limit = Limit(1 / 3, "of the mean", lower_is_better=False, extra="share")

        enough = limit_row(Case("shm.crowd"), limit, crowd(0.5, 0.6, 0.7))
        starved = limit_row(Case("shm.crowd"), limit, crowd(0.1, 0.2, 0.9))

        assert enough is not None and starved is not None
        self.assertEqual((enough.ours, enough.met, starved.met), (0.6, True, False))

    def test_refuses_a_sample_without_the_extra_figure(self) -> None:
        with self.assertRaises(ProgramError):
            limit_row(Case("shm.crowd"), Limit(1, "x", extra="other"), crowd(0.5))


if __name__ == "__main__":
    unittest.main()
