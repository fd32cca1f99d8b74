"""Which tests must run again."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import unchanged


def test_of(name: str, program: str, labels: str = "unit.base") -> dict:
    return {
        "name": name,
        "command": [program, f"--gtest_filter={name}"],
        "properties": [{"name": "LABELS", "value": [labels]}],
    }


class Unchanged(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.write("a_test", "a")
        self.write("b_test", "b")
        self.tests = [
            test_of("A.One", str(self.build / "a_test")),
            test_of("A.Two", str(self.build / "a_test")),
            test_of("B.One", str(self.build / "b_test")),
            test_of("B.Kills", str(self.build / "b_test"), "process.turmoil"),
            {"name": "not_built"},
        ]

    def test_ctest_runs_just_those_that_must_run(self) -> None:
        lines = [f'add_test({name} "true")\n' for name in "abcd"]
        (self.build / "CTestTestfile.cmake").write_text("".join(lines))
        numbers = self.build / "numbers.txt"
        for must in ([1, 2, 3, 4], [2], [1, 4], [3, 4]):
            numbers.write_text(unchanged.to_numbers(must))
            command = ["ctest", "--test-dir", str(self.build), "-N", "-I", str(numbers)]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            self.assertEqual([int(one) for one in re.findall(r"Test +#(\d+)", told)], must)

    def test_ctest_is_told_where_the_numbers_are_from_the_root(self) -> None:
        # With --test-dir it takes a file that it does not find for no selection at all.
        told = (pathlib.Path(unchanged.__file__).parent / "test").read_text("utf-8")
        self.assertEqual(re.findall(r"-I \"([^\"]+)\"", told), ["$root/build/$1/unchanged.txt"])

    def write(self, name: str, text: str) -> None:
        program = self.build / name
        program.write_text(text)
        program.chmod(0o755)

    def keys(self, data: str = "data") -> dict[str, str]:
        return unchanged.keys(self.tests, self.build, data)

    def test_what_never_passed_runs(self) -> None:
        self.assertEqual(unchanged.to_run(self.tests, self.keys(), {}), [1, 2, 3, 4, 5])

    def test_what_passed_does_not_run_again_but_what_is_not_built_does(self) -> None:
        now = self.keys()
        self.assertEqual(unchanged.to_run(self.tests, now, now), [5])

    def test_another_program_makes_its_own_tests_run_and_those_with_processes(self) -> None:
        before = self.keys()
        self.write("a_test", "changed")
        self.assertEqual(unchanged.to_run(self.tests, self.keys(), before), [1, 2, 4, 5])

    def test_another_file_that_tests_read_makes_all_run(self) -> None:
        self.assertEqual(
            unchanged.to_run(self.tests, self.keys("other"), self.keys()), [1, 2, 3, 4, 5]
        )

    def test_of_two_with_one_name_both_run(self) -> None:
        self.tests.append(test_of("A.One", str(self.build / "b_test")))
        now = self.keys()
        self.assertEqual(unchanged.to_run(self.tests, now, now), [1, 5, 6])

    def test_only_what_passed_is_kept(self) -> None:
        (self.build / "now.json").write_text('{"A.One": "1", "A.Two": "2"}')
        (self.build / "passed.json").write_text('{"A.Two": "2"}')
        report = self.build / "report.xml"
        report.write_text(
            '<testsuite><testcase name="A.One" status="run"/>'
            '<testcase name="A.Two" status="fail"/></testsuite>'
        )
        unchanged.keep(self.build, report)
        self.assertEqual(unchanged.read(self.build / "passed.json"), {"A.One": "1"})


if __name__ == "__main__":
    unittest.main()
