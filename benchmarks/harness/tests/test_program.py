"""Running a program and reading what it prints."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from benchmarks.harness.program import NotMeasurableError, ProgramError, parse_sample, run

LINE = '{"value": 0.61, "unit": "us", "lower_is_better": true, "extra": {"p99": 0.9}}\n'


class ParseSample(unittest.TestCase):
    def test_reads_the_one_line(self) -> None:
        sample = parse_sample(LINE)

        self.assertEqual((sample.value, sample.unit, sample.lower_is_better), (0.61, "us", True))
        self.assertEqual(sample.extra, {"p99": 0.9})

    def test_refuses_anything_else(self) -> None:
        wrong = (
            "",
            LINE + LINE,
            "0.61\n",
            '{"value": 0.61}\n',
            LINE.replace("0.61", "0"),
            LINE.replace("0.61", "NaN"),
            LINE.replace("0.61", '"fast"'),
        )
        for text in wrong:
            with self.subTest(text=text), self.assertRaises(ProgramError):
                parse_sample(text)


class RunOfAScript(unittest.TestCase):
    def script(self, body: str) -> Path:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "bench_fake"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def test_passes_the_case_and_the_time(self) -> None:
        body = f"""[ "$*" = "shm.stream --seconds 0.25" ] && echo '{LINE.strip()}'"""

        measured = run(self.script(body), "shm.stream", 0.25)

        self.assertEqual(measured.sample.value, 0.61)

    def test_counts_as_its_own_what_it_says_of_helpers_that_nobody_waits_for(self) -> None:
        line = LINE.strip().replace('"p99": 0.9', '"unwaited_seconds": 2.5')

        with mock.patch("benchmarks.harness.program.Guard") as guard:
            run(self.script(f"echo '{line}'"), "shm.stream", 0.25)

        guard.return_value.foreign.assert_called_once_with(2.5)

    def test_says_why_a_program_failed(self) -> None:
        with self.assertRaisesRegex(ProgramError, "exit status 1: wrong bytes"):
            run(self.script("echo wrong bytes >&2; exit 1"), "shm.stream", 0.25)

    def test_tells_a_missing_case_from_a_failure(self) -> None:
        with self.assertRaisesRegex(NotMeasurableError, "has no case shm.stream"):
            run(self.script("exit 3"), "shm.stream", 0.25)

    def test_tells_a_missing_program_from_a_failure(self) -> None:
        with self.assertRaisesRegex(NotMeasurableError, "bench_none is not built"):
            run(Path("bench_none"), "shm.stream", 0.25)


if __name__ == "__main__":
    unittest.main()
