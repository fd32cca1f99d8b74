"""The table is read as it was written, and new rows take the place of old ones."""

import unittest

from benchmarks.tune.contest import ROUNDS, hold
from benchmarks.tune.table import Method, Row, chosen, parse, replaced, to_text
from benchmarks.tune.tables import COMMON, INTEL, WITHIN_A_HOST, Tables, read

RING = Method("ring", 1024)
TREE = Method("tree")


class Table(unittest.TestCase):
    def test_is_read_as_it_was_written(self) -> None:
        for path in (COMMON, INTEL):
            text = path.read_text(encoding="utf-8")
            self.assertEqual(to_text(parse(text)), text)

    def test_of_some_processors_says_nothing_of_what_goes_between_hosts(self) -> None:
        self.assertTrue(all(row.ground in WITHIN_A_HOST for row in read(INTEL)))

    def test_takes_new_rows_where_those_of_this_machines_processors_are(self) -> None:
        for ground, cpu, path in (
            ("arena", "GenuineIntel family 6 model 207", INTEL),
            ("links", "GenuineIntel family 6 model 207", COMMON),
            ("arena", "AuthenticAMD family 25 model 17", COMMON),
        ):
            tables = Tables(cpu)
            new = Row(ground, "reduce", 2, None, Method("staged", 4096))
            self.assertEqual(tables.put(ground, [new]), path)
            self.assertIn(new, tables.rows())
            self.assertEqual(chosen(tables.rows(), ground, "reduce", 8, 1 << 20), new.method)

    def test_keeps_what_was_not_measured_again(self) -> None:
        old = [Row("links", "reduce", 2, None, TREE), Row("links", "gather", 2, None, TREE)]
        new = [Row("links", "reduce", 2, None, RING)]
        self.assertEqual(replaced(old, new), [new[0], old[1]])

    def test_has_new_rows_in_the_order_of_the_common_ones(self) -> None:
        for ground in WITHIN_A_HOST:
            tables = Tables("GenuineIntel family 6 model 207")
            tables.put(ground, [Row(ground, "broadcast", 2, None, RING)])
            grounds = [row.ground for row in parse(tables.text(INTEL))]
            self.assertEqual(grounds, sorted(grounds, key=WITHIN_A_HOST.index))

    def test_of_some_processors_does_not_say_again_what_all_say(self) -> None:
        tables = Tables("GenuineIntel family 6 model 207")
        same = [row for row in read(COMMON) if (row.ground, row.operation) == ("arena", "gather")]
        self.assertEqual(tables.put("arena", same), INTEL)
        self.assertEqual(parse(tables.text(INTEL)), read(INTEL))

    def test_is_read_as_the_library_reads_it(self) -> None:
        rows = [
            Row("links", "reduce", 2, 100, TREE),
            Row("links", "reduce", 2, None, RING),
            Row("links", "reduce", 4, None, TREE),
        ]
        self.assertEqual(chosen(rows, "links", "reduce", 2, 100), TREE)
        self.assertEqual(chosen(rows, "links", "reduce", 3, 101), RING)
        self.assertEqual(chosen(rows, "links", "reduce", 9, 101), TREE)
        self.assertIsNone(chosen(rows, "links", "gather", 2, 1))


class Contest(unittest.TestCase):
    def test_measures_who_is_far_behind_once(self) -> None:
        tried: list[Method] = []

        def measure(method: Method) -> float:
            tried.append(method)
            return 1.0 if method == RING else 2.0

        self.assertEqual(hold([TREE, RING], None, measure).winner, RING)
        self.assertEqual(tried, [TREE, RING])

    def test_compares_who_is_close_in_turn_by_the_least_time(self) -> None:
        times = {RING: [5.0, 1.0, 1.0, 1.0], TREE: [4.9, 0.9, 4.0, 4.0]}
        left = {method: iter(values) for method, values in times.items()}
        found = hold([RING, TREE], None, lambda method: next(left[method]))
        self.assertEqual(found.winner, TREE)
        self.assertEqual(found.took, {RING: 1.0, TREE: 0.9})
        self.assertEqual(len(times[RING]), ROUNDS)

    def test_leaves_what_was_chosen_unless_it_is_clearly_beaten(self) -> None:
        for faster, winner in ((0.97, TREE), (0.8, RING)):
            found = hold([RING, TREE], TREE, lambda method, f=faster: f if method == RING else 1.0)
            self.assertEqual(found.winner, winner)


if __name__ == "__main__":
    unittest.main()
