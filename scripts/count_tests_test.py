"""What counts as passed in a ctest run."""

import unittest

import count_tests

REPORT = """<testsuite>
  <testcase name="good" status="run"/>
  <testcase name="bad" status="fail"><failure message=""/></testcase>
  <testcase name="skipped" status="notrun"><skipped message="SKIP"/></testcase>
  <testcase name="off" status="disabled"><skipped message="Disabled"/></testcase>
</testsuite>"""


class CountTests(unittest.TestCase):
    def test_what_was_skipped_or_disabled_did_not_pass(self):
        self.assertEqual(
            count_tests.count(REPORT), (1, ["bad: fail", "skipped: notrun", "off: disabled"])
        )


if __name__ == "__main__":
    unittest.main()
