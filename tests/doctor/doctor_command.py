"""`muster doctor` as people use it: what there is, what would be chosen and why, and how fast."""

import json
import subprocess
import sys
import unittest

MUSTER = sys.argv.pop(1)

SHM_AND_TCP = "shm://one,tcp://10.0.0.1:7000"
SAME_HOST = "shm://two,tcp://10.0.0.1:7001"
OTHER_HOST = "shm://three,tcp://10.0.0.2:7000"


def run_doctor(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MUSTER, "doctor", *words], capture_output=True, text=True, timeout=200, check=False
    )


class DoctorCommand(unittest.TestCase):
    def choice(self, one: str, other: str) -> tuple[str, str]:
        told = run_doctor("--between", one, other, "--json")
        self.assertEqual(told.returncode, 0, told.stderr)
        answer = json.loads(told.stdout)
        shown = run_doctor("--between", one, other)
        self.assertEqual(shown.stdout.strip(), f"{answer['driver']}  {answer['why']}")
        return answer["driver"], answer["why"]

    def drivers(self) -> dict[str, dict]:
        told = run_doctor("--json")
        self.assertEqual(told.returncode, 0, told.stderr)
        return {row["driver"]: row for row in json.loads(told.stdout)["drivers"]}

    def test_lists_every_driver_with_its_use_or_what_to_install(self) -> None:
        told = run_doctor()
        self.assertEqual(told.returncode, 0, told.stderr)
        for name in ("inproc", "shm", "tcp", "zmq", "ucx"):
            self.assertIn(name, told.stdout)
        listed = self.drivers()
        for name in ("inproc", "shm", "tcp"):
            self.assertTrue(listed[name]["use"])
        document = json.loads(run_doctor("--json").stdout)
        for name in ("zmq", "ucx"):
            if name not in listed:
                self.assertIn("install", " ".join(document["missing"]))
        if "ucx" in listed:
            self.assertTrue(document["fabrics"])
            for fabric in document["fabrics"]:
                self.assertIn(fabric, told.stdout)

    def test_shared_memory_is_chosen_on_one_host_and_tcp_between_two(self) -> None:
        driver, why = self.choice(SHM_AND_TCP, SAME_HOST)
        self.assertEqual(driver, "shm")
        self.assertIn("on this host", why)
        self.assertIn("then tcp://10.0.0.1:7001", why)
        driver, why = self.choice(SHM_AND_TCP, OTHER_HOST)
        self.assertEqual(driver, "tcp")
        self.assertIn("not shm://three: the peer is on another host", why)

    def test_zmq_and_ucx_are_used_only_when_named(self) -> None:
        listed = self.drivers()
        for name in ("zmq", "ucx"):
            named = f"{name}://10.0.0.1:7005"
            other = f"tcp://10.0.0.2:7000,{name}://10.0.0.2:7005"
            driver, why = self.choice("tcp://10.0.0.1:7000", other)
            self.assertEqual(driver, "tcp")
            self.assertIn(f"not {name}://10.0.0.2:7005", why)
            if name in listed:
                driver, why = self.choice(f"tcp://10.0.0.1:7000,{named}", other)
                self.assertEqual(driver, name)
                self.assertIn("asked for by name", why)

    def test_says_when_nothing_joins_two_components(self) -> None:
        driver, why = self.choice("shm://one", "tcp://10.0.0.2:7000")
        self.assertEqual(driver, "none")
        self.assertIn("no address can be used", why)
        wrong = run_doctor("--between", "tcp://10.0.0.1", "shm://x")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("a port is missing", wrong.stderr)

    def test_measures_every_driver_that_there_is(self) -> None:
        listed = self.drivers()
        told = run_doctor("--measure", "--json")
        self.assertEqual(told.returncode, 0, told.stderr)
        rows = {row["driver"]: row for row in json.loads(told.stdout)}
        self.assertEqual(set(rows), set(listed))
        for name, row in rows.items():
            self.assertGreater(row["round_trip_us"], 0, name)
            self.assertGreater(row["messages_per_s"], 0, name)
            copies = row["copied_gb_per_s"] > 0
            self.assertEqual(copies, name != "inproc", name)
            self.assertEqual(row["handover_us"] > 0, name in ("inproc", "shm"), name)


if __name__ == "__main__":
    unittest.main()
