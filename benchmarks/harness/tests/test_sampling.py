"""Taking samples in turn, and again when the machine was not quiet."""

import unittest

from benchmarks.harness.guard import FOREIGN_LIMIT
from benchmarks.harness.program import Measured, Sample
from benchmarks.harness.sampling import RETAKES_PER_ROUND, TRIES_PER_SAMPLE, take_rounds

QUIET = 0.0
BUSY = FOREIGN_LIMIT


class FakeMachine:
    """Plays back how busy others were; quiet when the script has ended."""

    def __init__(self, *foreign: float) -> None:
        self.foreign = list(foreign)
        self.runs: list[str] = []
        self.naps: list[float] = []

    def run(self, contender: str) -> Measured:
        self.runs.append(contender)
        foreign = self.foreign.pop(0) if self.foreign else QUIET
        return Measured(Sample(float(len(self.runs)), "us", True), foreign)


class TakeRounds(unittest.TestCase):
    def test_runs_contenders_in_turn_and_turns_the_order(self) -> None:
        machine = FakeMachine()

        take_rounds(["ours", "raw", "zmq"], 3, machine.run, machine.naps.append)

        self.assertEqual(" ".join(machine.runs), "ours raw zmq raw zmq ours zmq ours raw")

    def test_pairs_samples_of_the_same_round(self) -> None:
        machine = FakeMachine()

        rounds = take_rounds(["ours", "raw"], 2, machine.run, machine.naps.append)

        pairs = [(ours.value, raw.value) for ours, raw in rounds.pairs("ours", "raw")]
        self.assertEqual(pairs, [(1.0, 2.0), (4.0, 3.0)])

    def test_drops_and_retakes_a_sample_beside_a_busy_stranger(self) -> None:
        machine = FakeMachine(BUSY, BUSY, QUIET)

        rounds = take_rounds(["ours"], 1, machine.run, machine.naps.append)

        self.assertEqual([sample.value for sample in rounds.of("ours")], [3.0])
        self.assertEqual((rounds.retakes, rounds.given_up, len(machine.naps)), (2, 0, 2))

    def test_keeps_a_sample_just_under_the_limit(self) -> None:
        machine = FakeMachine(BUSY - 0.001)

        rounds = take_rounds(["ours"], 1, machine.run, machine.naps.append)

        self.assertEqual(rounds.retakes, 0)

    def test_gives_up_on_a_machine_that_is_never_quiet(self) -> None:
        machine = FakeMachine(*[BUSY] * 1000)

        rounds = take_rounds(["ours", "raw"], 5, machine.run, machine.naps.append)

        self.assertEqual(rounds.pairs("ours", "raw"), [])
        self.assertEqual(rounds.given_up, 10)
        self.assertEqual(len(machine.runs), 10 + 5 * RETAKES_PER_ROUND)

    def test_bounds_the_tries_of_one_sample(self) -> None:
        machine = FakeMachine(*[BUSY] * TRIES_PER_SAMPLE)

        rounds = take_rounds(["ours"], 20, machine.run, machine.naps.append)

        self.assertEqual((rounds.given_up, len(rounds.of("ours"))), (1, 19))


if __name__ == "__main__":
    unittest.main()
