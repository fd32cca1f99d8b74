"""The table is read as it was written, and new rows take the place of old ones."""

import unittest

from benchmarks.tune.cli import TABLE, case_name
from benchmarks.tune.methods import GROUNDS, OPERATIONS, candidates
from benchmarks.tune.table import Method, Row, merged, parse, replaced, to_text

RING = Method("ring", 1024)
TREE = Method("tree")


class Table(unittest.TestCase):
    def test_is_read_as_it_was_written(self) -> None:
        text = TABLE.read_text(encoding="utf-8")
        self.assertEqual(to_text(parse(text)), text)

    def test_has_one_row_from_each_border_to_the_next(self) -> None:
        rows = merged("links", "reduce", 4, [(16, TREE), (64, TREE), (256, RING), (1024, RING)])
        self.assertEqual(
            rows, [Row("links", "reduce", 4, 128, TREE), Row("links", "reduce", 4, None, RING)]
        )

    def test_keeps_what_was_not_measured_again(self) -> None:
        old = [Row("links", "reduce", 2, None, TREE), Row("links", "gather", 2, None, TREE)]
        new = [Row("links", "reduce", 2, None, RING)]
        self.assertEqual(replaced(old, new), [new[0], old[1]])

    def test_has_candidates_for_everything(self) -> None:
        for ground in GROUNDS:
            for operation in OPERATIONS.values():
                self.assertTrue(candidates(ground, operation))

    def test_names_the_case_that_forces_a_method(self) -> None:
        self.assertEqual(
            case_name("links", "reduce", "1M", 4, RING), "tcp.reduce.1M.4@links:ring:1024"
        )


if __name__ == "__main__":
    unittest.main()
