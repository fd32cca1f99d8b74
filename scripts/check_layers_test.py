"""The layer rule, on small trees of its own."""

import pathlib
import tempfile
import unittest

import check_layers

LINES = """
muster_module(base DEPS Threads::Threads PRIVATE_DEPS fmt::fmt)
muster_module(net DEPS muster::base
  PRIVATE_DEPS OpenSSL::Crypto
  LABELS threads)
muster_module(drivers/tcp DEPS muster::net TEST_DEPS muster::msg)
muster_module(msg DEPS muster::net)
"""


class CheckLayers(unittest.TestCase):
    def faults(self, path: str, line: str) -> list[str]:
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "CMakeLists.txt").write_text(LINES)
            (root / "muster" / path).parent.mkdir(parents=True)
            (root / "muster" / path).write_text(line + "\n")
            return check_layers.check(root)

    def test_a_folder_includes_what_its_line_names_and_what_that_names(self):
        self.assertEqual(self.faults("drivers/tcp/tcp.cpp", '#include "muster/base/error.h"'), [])

    def test_a_folder_may_not_look_up(self):
        self.assertEqual(
            self.faults("drivers/tcp/tcp.cpp", '#include "muster/msg/proxy.h"'),
            ["muster/drivers/tcp/tcp.cpp: drivers/tcp may not include msg"],
        )

    def test_what_only_the_tests_may_use_is_not_the_folders(self):
        self.assertEqual(self.faults("drivers/tcp/tcp_test.cpp", '#include "muster/msg/a.h"'), [])

    def test_a_header_includes_nobody_elses_library(self):
        self.assertEqual(len(self.faults("net/link.h", "#include <fmt/format.h>")), 1)
        self.assertEqual(self.faults("net/link.cpp", "#include <fmt/format.h>"), [])

    def test_only_tests_include_a_testing_folder(self):
        line = '#include "muster/net/testing/sim.h"'
        self.assertEqual(len(self.faults("drivers/tcp/tcp.cpp", line)), 1)
        self.assertEqual(self.faults("drivers/tcp/testing/rig.h", line), [])

    def test_a_folder_without_a_line_is_a_fault(self):
        self.assertEqual(len(self.faults("util/util.h", "")), 1)


if __name__ == "__main__":
    unittest.main()
