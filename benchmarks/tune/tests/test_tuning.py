"""The table in the tree is one that can be measured, and measuring it changes what is beaten."""

import contextlib
import io
import random
import unittest
from collections.abc import Iterator

from benchmarks.tune.methods import (
    GROUNDS,
    OPERATIONS,
    RANKS,
    candidates,
)
from benchmarks.tune.table import Method, Row, chosen
from benchmarks.tune.tables import COMMON, INTEL, Tables
from benchmarks.tune.tuning import Measure, best_of, case_name, tune

CPUS = ("GenuineIntel family 6 model 85", "AuthenticAMD family 25 model 17")
RING = Method("ring", 1024)
TREE = Method("tree")


def quietly(table: list[Row], ground: str, operation: str, measure: Measure) -> list[Row]:
    with contextlib.redirect_stderr(io.StringIO()):
        return tune(table, ground, operation, measure)


def everything() -> Iterator[tuple[list[Row], str, str]]:
    for cpu in CPUS:
        for ground in GROUNDS:
            for operation in OPERATIONS:
                yield Tables(cpu).rows(), ground, operation


def of(table: list[Row], ground: str, operation: str) -> list[Row]:
    return [row for row in table if (row.ground, row.operation) == (ground, OPERATIONS[operation])]


class TheTable(unittest.TestCase):
    def test_comes_back_where_nobody_is_beaten(self) -> None:
        for cpu in CPUS:
            tables = Tables(cpu)
            for ground in GROUNDS:
                for operation in OPERATIONS:
                    new = quietly(tables.rows(), ground, operation, lambda _: 1.0)
                    self.assertEqual(new, of(tables.rows(), ground, operation))
                    tables.put(ground, new)
            for path in (COMMON, INTEL)[: 2 if cpu == CPUS[0] else 1]:
                self.assertEqual(tables.text(path), path.read_text(encoding="utf-8"))

    def test_says_what_was_best_and_keeps_the_rest(self) -> None:
        dice = random.Random(7)
        for table, ground, operation in everything():
            times: dict[str, float] = {}

            def measure(case: str, times: dict[str, float] = times) -> float:
                return times.setdefault(case, dice.uniform(1, 2))

            with contextlib.redirect_stderr(io.StringIO()):
                best = {n: best_of(table, ground, operation, n, measure) for n in RANKS}
            new = quietly(table, ground, operation, measure)
            for ranks in RANKS:
                for size, method in best[ranks]:
                    self.assertEqual(
                        chosen(new, ground, OPERATIONS[operation], ranks, size), method
                    )
            rest = [row for row in of(table, ground, operation) if row.ranks > max(RANKS)]
            self.assertEqual([row for row in new if row.ranks > max(RANKS)], rest)
            # What was found once stands when it is found again.
            self.assertEqual(quietly(new, ground, operation, lambda _: 1.0), new)


class Tuning(unittest.TestCase):
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
