"""What was measured counts up to the borders of the table, and what was not stays."""

import random
import unittest

from benchmarks.tune.bands import bands, retuned, spread, steps
from benchmarks.tune.table import Method, Row, chosen

RING = Method("ring", 1024)
TREE = Method("tree")
STAR = Method("star")
RANKS = {2: 2, 4: 3, 8: 8}


def rows(*said: tuple[int, int | None, Method]) -> list[Row]:
    return [Row("links", "reduce", *one) for one in said]


def after(old: list[Row], *winners: Method) -> list[Row]:
    """One size, with two, four and eight ranks."""
    best = {ranks: [(64, method)] for ranks, method in zip(RANKS, winners, strict=True)}
    return retuned(old, "links", "reduce", RANKS, best)


class Bytes(unittest.TestCase):
    def test_have_a_border_in_the_middle_where_there_was_none(self) -> None:
        best = [(16, TREE), (64, TREE), (256, RING), (1024, RING)]
        for before in ([], [(None, STAR)], [(None, RING)]):
            self.assertEqual(spread(before, best), [(128, TREE), (None, RING)])

    def test_keep_their_borders(self) -> None:
        before = [(100, TREE), (None, RING)]
        self.assertEqual(spread(before, [(64, TREE), (256, RING)]), before)
        self.assertEqual(spread(before, [(64, STAR), (256, RING)]), [(100, STAR), (None, RING)])

    def test_lose_a_border_between_what_is_now_alike(self) -> None:
        before = [(100, TREE), (None, RING)]
        self.assertEqual(spread(before, [(64, TREE), (256, TREE)]), [(None, TREE)])

    def test_that_were_not_measured_keep_their_methods(self) -> None:
        before = [(8, STAR), (100, TREE), (200, STAR), (512, RING), (None, STAR)]
        self.assertEqual(
            spread(before, [(64, RING), (256, TREE)]),
            [(8, STAR), (100, RING), (200, STAR), (512, TREE), (None, STAR)],
        )


class Ranks(unittest.TestCase):
    def test_are_in_bands_as_the_table_has_them(self) -> None:
        self.assertEqual(bands([2, 3, 9], RANKS), [(2, 2), (3, 4), (8, 8), (9, None)])
        self.assertEqual(bands([2, 4], RANKS), [(2, 2), (4, 4), (8, 8)])
        self.assertEqual(bands([2, 3, 4, 6], RANKS), [(2, 2), (3, None), (4, 4), (6, 8)])
        self.assertEqual(bands([], RANKS), [(2, 2), (3, 4), (8, 8)])

    def test_are_measured_each_for_its_band(self) -> None:
        old = rows((2, None, TREE))
        self.assertEqual(after(old, STAR, TREE, TREE), rows((2, None, STAR), (3, None, TREE)))
        self.assertEqual(after(old, TREE, RING, RING), rows((2, None, TREE), (3, None, RING)))
        self.assertEqual(after(old, TREE, TREE, RING), rows((2, None, TREE), (8, None, RING)))
        self.assertEqual(after([], RING, RING, RING), rows((2, None, RING)))

    def test_that_were_not_measured_keep_their_rows(self) -> None:
        old = rows((2, None, TREE), (3, 16, STAR), (9, 64, TREE), (9, None, RING))
        for winners in ((TREE, RING, RING), (RING, RING, RING), (STAR, TREE, RING)):
            new = after(old, *winners)
            self.assertEqual([row for row in new if row.ranks > 8], old[2:])
            self.assertEqual([chosen(new, "links", "reduce", n, 64) for n in RANKS], [*winners])
            self.assertEqual(chosen(new, "links", "reduce", 4, 16), STAR)

    def test_lose_a_row_that_says_what_those_of_fewer_say(self) -> None:
        old = rows((2, None, TREE), (3, None, RING))
        self.assertEqual(after(old, TREE, TREE, TREE), rows((2, None, TREE)))

    def test_whose_rows_leave_something_to_others_keep_what_it_was(self) -> None:
        old = rows((2, 32, TREE), (2, None, RING), (3, 16, STAR))
        self.assertEqual(
            after(old, TREE, RING, RING),
            rows((2, None, TREE), (3, 16, STAR), (3, 32, TREE), (3, None, RING)),
        )

    def test_are_read_with_what_others_say_for_more_bytes(self) -> None:
        old = rows((2, 32, TREE), (2, None, RING), (3, 16, STAR))
        self.assertEqual(steps(old, 2), [(32, TREE), (None, RING)])
        self.assertEqual(steps(old, 3), [(16, STAR), (32, TREE), (None, RING)])


class AnyTable(unittest.TestCase):
    SIZES = (10, 50, 200)

    def some_rows(self, dice: random.Random) -> list[Row]:
        found: list[Row] = []
        for first in [2, *sorted(dice.sample(range(3, 14), dice.randint(0, 4)))]:
            ends: list[int | None] = [*sorted(dice.sample(range(1, 300), dice.randint(1, 3)))]
            ends += [None] if first == 2 or dice.random() < 0.6 else []
            found += rows(*((first, end, dice.choice((RING, TREE, STAR))) for end in ends))
        return found

    def test_says_the_same_where_nobody_is_beaten(self) -> None:
        dice = random.Random(1)
        for _ in range(500):
            old = self.some_rows(dice)
            said = {
                n: [(size, chosen(old, "links", "reduce", n, size) or TREE) for size in self.SIZES]
                for n in RANKS
            }
            new = retuned(old, "links", "reduce", RANKS, said)
            for ranks in range(2, 15):
                self.assertEqual(steps(new, ranks), steps(old, ranks))

    def test_says_what_was_best_and_loses_no_row_that_was_not_measured(self) -> None:
        dice = random.Random(2)
        for _ in range(500):
            old = self.some_rows(dice)
            best = {n: [(s, dice.choice((RING, TREE, STAR))) for s in self.SIZES] for n in RANKS}
            new = retuned(old, "links", "reduce", RANKS, best)
            for ranks in RANKS:
                for size, method in best[ranks]:
                    self.assertEqual(chosen(new, "links", "reduce", ranks, size), method)
            firsts = {row.ranks for row in old}
            kept = [first for first, ranks in bands(firsts, RANKS) if ranks is None]
            self.assertEqual(
                [row for row in new if row.ranks in kept], [row for row in old if row.ranks in kept]
            )


if __name__ == "__main__":
    unittest.main()
