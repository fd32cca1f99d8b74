"""What counts as covered, on small trees of its own."""

import pathlib
import tempfile
import unittest

import check_coverage

TESTS = """
TEST(Plain, Works) {
TEST_F(Fixture, Works) {
TEST_P(Suite, Works) {
RC_GTEST_PROP(Property, Works, ()) {
RC_GTEST_PROP(Property, StandsBelow,
              (int number)) {
TEST(Plain, DISABLED_Sleeps) {
// TEST(Plain, IsGone) {
"""
GOOD = "| {row} | a feature | does it | `Plain.Works` |"


class CheckCoverage(unittest.TestCase):
    def faults(self, changes: dict[str, str]) -> list[str]:
        """Of a page with a good line for each row, but for `changes`."""
        lines = [changes.get(row, GOOD.format(row=row)) for row in check_coverage.ROWS]
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            page = root / check_coverage.PAGE
            page.parent.mkdir(parents=True)
            page.write_text("| row | feature | we | tests |\n| --- |\n" + "\n".join(lines) + "\n")
            (root / "muster/msg").mkdir(parents=True)
            (root / "muster/msg/some_test.cpp").write_text(TESTS)
            found = check_coverage.check(root)
        return [fault.removeprefix(f"{check_coverage.PAGE}: ") for fault in found]

    def faults_of(self, tests: str, does: str = "does it") -> list[str]:
        return self.faults({"M5": f"| M5 | a feature | {does} | {tests} |"})

    def test_every_kind_of_test_is_found(self):
        names = ["Plain", "Fixture", "Suite", "Property"]
        self.assertEqual(self.faults_of(", ".join(f"`{name}.Works`" for name in names)), [])
        self.assertEqual(self.faults_of("`Property.StandsBelow`"), [])

    def test_a_test_that_is_not_there_is_a_fault(self):
        for name in ["Plain.Sings", "Fixture.Wor", "Plain.DISABLED_Sleeps", "Plain.IsGone"]:
            faults = self.faults_of(f"`Plain.Works`, `{name}`")
            self.assertEqual(faults, [f"M5: there is no test {name}"])

    def test_a_row_without_a_test_must_say_so(self):
        self.assertEqual(self.faults_of("none", "Not yet: nobody has written it"), [])
        self.assertEqual(self.faults_of("none"), ['M5: has no test and does not say "not yet"'])

    def test_what_is_no_list_of_tests_is_a_fault(self):
        for tests in ["Plain.Works", "`Plain.Works` and more", "`Plain.Works`,", "`Plain`"]:
            self.assertEqual(len(self.faults_of(tests)), 1, tests)

    def test_every_row_stands_there_once(self):
        self.assertEqual(self.faults({"M7": ""}), ["M7: is missing"])
        self.assertEqual(
            self.faults({"M7": GOOD.format(row="M8")}),
            ["M7: is missing", "M8: stands there twice"],
        )
        self.assertEqual(
            self.faults({"M7": GOOD.format(row="M7") + "\n" + GOOD.format(row="M70")}),
            ["M70: is no row"],
        )

    def test_a_row_has_all_its_cells(self):
        self.assertEqual(len(self.faults({"M7": "| M7 | a feature | `Plain.Works` |"})), 1)
        self.assertEqual(len(self.faults({"M7": "| M7 | a feature | | `Plain.Works` |"})), 1)
        self.assertEqual(self.faults({"M7": r"| M7 | `\|\|` | does it | `Plain.Works` |"}), [])


if __name__ == "__main__":
    unittest.main()
