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
    SIZES,
    as_done,
    candidates,
    different,
)
from benchmarks.tune.table import Method, Row, chosen, find, parse
from benchmarks.tune.tables import COMMON, INTEL, Tables, read
from benchmarks.tune.tuning import HOPELESS_FROM, Measure, best_of, case_name, tune

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

    def test_has_only_methods_that_are_tried(self) -> None:
        for table, ground, operation in everything():
            tried = candidates(ground, OPERATIONS[operation])
            for ranks in RANKS:
                for size in SIZES.values():
                    method = chosen(table, ground, OPERATIONS[operation], ranks, size)
                    assert method is not None
                    self.assertIn(
                        as_done(method, ranks, size),
                        [as_done(one, ranks, size) for one in tried],
                        f"{ground} {operation} {ranks} {size}",
                    )

    def test_has_no_row_that_is_not_measured_but_those_of_more_ranks(self) -> None:
        for table, ground, operation in everything():
            name = OPERATIONS[operation]
            measured = [
                find(table, ground, name, ranks, size) for ranks in RANKS for size in SIZES.values()
            ]
            for row in of(table, ground, operation):
                self.assertTrue(row in measured or row.ranks > max(RANKS), row)

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

    def test_has_by_hand_what_cannot_be_measured(self) -> None:
        by_hand = {
            row for row in read(COMMON) if row.operation == "barrier" or row.ground == "hosts"
        }
        self.assertEqual({row.ground for row in by_hand}, {*GROUNDS, "hosts"})
        self.assertFalse({"barrier", *OPERATIONS.values()} - {row.operation for row in by_hand})
        tables = Tables(CPUS[1])
        for ground in GROUNDS:
            for operation in OPERATIONS:
                new = quietly(tables.rows(), ground, operation, lambda case: float(len(case)))
                tables.put(ground, new)
        self.assertLessEqual(by_hand, set(parse(tables.text(COMMON))))


class Tuning(unittest.TestCase):
    def test_has_candidates_for_everything(self) -> None:
        for ground in GROUNDS:
            for operation in OPERATIONS.values():
                self.assertTrue(candidates(ground, operation))

    def test_names_the_case_that_forces_a_method(self) -> None:
        self.assertEqual(
            case_name("links", "reduce", "1M", 4, RING), "tcp.reduce.1M.4@links:ring:1024"
        )

    def test_measures_what_comes_to_the_same_once(self) -> None:
        half, one = Method("ring", 512 << 10), Method("ring", 1 << 20)
        whole, staged = Method("ring", 0), Method("staged", 1 << 20)
        all_of_them = [half, one, whole, staged, TREE]
        self.assertEqual(different(all_of_them, 4, 1 << 20), [half, staged, TREE])
        self.assertEqual(different(all_of_them, 4, 4 << 20), [half, one, staged, TREE])
        self.assertEqual(different(all_of_them, 4, 8 << 20), all_of_them)

    def test_measures_what_the_table_has_of_what_comes_to_the_same(self) -> None:
        table = [Row("links", "broadcast", 2, None, Method("chain", 2 << 20))]
        cases: list[str] = []
        quietly(table, "links", "broadcast", lambda case: cases.append(case) or 1.0)
        chains = {case for case in cases if ".4K." in case and ":chain:" in case}
        self.assertEqual(chains, {f"tcp.broadcast.4K.{n}@links:chain:{2 << 20}" for n in RANKS})

    def test_gives_up_who_is_hopeless_with_many_bytes_only(self) -> None:
        cases: list[str] = []

        def measure(case: str) -> float:
            cases.append(case)
            return 1.0 if ":tree:" in case else 100.0

        quietly([], "links", "broadcast", measure)
        tried = {
            size
            for size in SIZES
            if any(f".{size}." in case and ":linear:" in case for case in cases)
        }
        self.assertEqual(tried, {size for size, count in SIZES.items() if count <= HOPELESS_FROM})


if __name__ == "__main__":
    unittest.main()
