"""What counts as passed in a run of ctest or pytest."""

import unittest

import count_tests

REPORT = """<testsuite>
  <testcase name="good" status="run"/>
  <testcase name="bad" status="fail"><failure message=""/></testcase>
  <testcase name="skipped" status="notrun"><skipped message="SKIP"/></testcase>
  <testcase name="off" status="disabled"><skipped message="Disabled"/></testcase>
</testsuite>"""

OF_PYTEST = """<testsuites><testsuite tests="4">
  <testcase classname="python.tests.test_x" name="good"/>
  <testcase name="bad"><failure message=""/></testcase>
  <testcase name="broken"><error message=""/></testcase>
  <testcase name="left_out"><skipped message=""/></testcase>
</testsuite></testsuites>"""


class CountTests(unittest.TestCase):
    def test_what_was_skipped_or_disabled_did_not_pass(self):
        self.assertEqual(
            count_tests.count(REPORT), (1, ["bad: fail", "skipped: notrun", "off: disabled"])
        )

    def test_what_pytest_says_counts_alike(self):
        self.assertEqual(
            count_tests.count(OF_PYTEST),
            (1, ["bad: failure", "broken: error", "left_out: skipped"]),
        )


if __name__ == "__main__":
    unittest.main()
