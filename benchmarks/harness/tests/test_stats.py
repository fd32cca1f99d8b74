"""The arithmetic of comparing."""

import unittest

from benchmarks.harness.stats import speed, spread


class Speed(unittest.TestCase):
    def test_is_above_one_when_ours_takes_less_time(self) -> None:
        self.assertEqual(speed(2.0, 6.0, lower_is_better=True), 3.0)

    def test_is_below_one_when_ours_takes_more_time(self) -> None:
        self.assertEqual(speed(6.0, 3.0, lower_is_better=True), 0.5)

    def test_is_above_one_when_ours_does_more_per_second(self) -> None:
        self.assertEqual(speed(6.0, 2.0, lower_is_better=False), 3.0)

    def test_refuses_a_figure_that_is_not_positive(self) -> None:
        for ours, theirs in ((0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (float("nan"), 1.0)):
            with self.subTest(ours=ours, theirs=theirs), self.assertRaises(ValueError):
                speed(ours, theirs, lower_is_better=True)


class SpreadOfValues(unittest.TestCase):
    def test_gives_the_middle_half_of_nine(self) -> None:
        middle = spread([9, 1, 8, 2, 7, 3, 6, 4, 5])

        self.assertEqual((middle.low, middle.median, middle.high), (3, 5, 7))

    def test_ignores_one_wild_value(self) -> None:
        middle = spread([1.0, 1.1, 0.9, 1000.0, 1.0])

        self.assertEqual((middle.low, middle.median, middle.high), (1.0, 1.0, 1.1))

    def test_takes_the_mean_of_the_two_in_the_middle(self) -> None:
        self.assertEqual(spread([1, 2, 3, 4]).median, 2.5)

    def test_is_the_value_itself_when_there_is_one(self) -> None:
        middle = spread([4.0])

        self.assertEqual((middle.low, middle.median, middle.high), (4.0, 4.0, 4.0))

    def test_refuses_nothing(self) -> None:
        with self.assertRaises(ValueError):
            spread([])


if __name__ == "__main__":
    unittest.main()
