"""A whole session, on a machine that exists only here."""

import unittest

from benchmarks.harness.program import Measured, NotMeasurableError, ProgramError, Sample
from benchmarks.harness.reference import Reference
from benchmarks.harness.session import Session
from benchmarks.harness.suite import Case, Limit, Peer

RAW = Peer("raw", 0.5)


class FakePrograms:
    """Contenders by name, each with the figure that it always prints."""

    def __init__(self, foreign: float = 0.0, **figures: float) -> None:
        self.foreign = foreign
        self.figures = figures
        self.runs: list[str] = []
        self.said: list[str] = []

    def run(self, contender: str, case: str) -> Measured:
        if contender not in self.figures:
            raise NotMeasurableError(f"bench_{contender} is not built")
        self.runs.append(f"{contender} {case}")
        if case == "broken":
            raise ProgramError(f"bench_{contender} {case}: wrong bytes")
        return Measured(Sample(self.figures[contender], "us", True), self.foreign)

    def session(self, reference: Reference | None = None) -> Session:
        return Session(self.run, 2, self.said.append, reference)


class SessionOfFakePrograms(unittest.TestCase):
    def test_gives_a_row_per_peer_and_limit(self) -> None:
        session = FakePrograms(muster=2, raw=1).session()
        session.measure(Case("a", (RAW,), (Limit(20, "us"),)))

        found = [(row.peer, row.speed, row.pairs, row.met) for row in session.rows]
        self.assertEqual(found, [("raw", 0.5, 2, True), ("limit", 10.0, 2, True)])
        self.assertEqual(session.failures, [])

    def test_runs_the_peer_under_its_own_name_for_the_case(self) -> None:
        programs = FakePrograms(muster=2, zmq=1)
        programs.session().measure(Case("a.b", (Peer("zmq", 6, case="a.c"),)))

        self.assertEqual(set(programs.runs), {"muster a.b", "zmq a.c"})

    def test_fails_when_ours_is_missing(self) -> None:
        session = FakePrograms(raw=1).session()
        session.measure(Case("a", (RAW,)))

        self.assertEqual(session.failures, ["a: not measured: bench_muster is not built"])
        self.assertEqual(session.rows, [])

    def test_fails_when_a_peer_with_a_bar_is_missing(self) -> None:
        session = FakePrograms(muster=2).session()
        session.measure(Case("a", (RAW,)))

        self.assertEqual(session.failures, ["a: not measured: bench_raw is not built"])

    def test_only_mentions_an_informal_peer_that_is_missing(self) -> None:
        programs = FakePrograms(muster=2)
        session = programs.session()
        session.measure(Case("a", (Peer("nng"),), (Limit(20, "us"),)))

        self.assertEqual(programs.said, ["a: left out: bench_nng is not built"])
        self.assertEqual((len(session.rows), session.failures), (1, []))

    def test_fails_when_a_peer_is_slower_than_it_is_known_to_be(self) -> None:
        session = FakePrograms(muster=2, raw=10).session(Reference("cpu", "", {"raw a": 1.0}))
        session.measure(Case("a", (RAW,)))

        self.assertRegex(session.failures[0], "raw a: 10 where 1 is expected")

    def test_goes_on_with_the_next_case_when_a_program_fails(self) -> None:
        session = FakePrograms(muster=2, raw=1).session()
        session.measure(Case("broken", (RAW,)))
        session.measure(Case("a", (RAW,)))

        self.assertEqual(session.failures, ["broken: bench_muster broken: wrong bytes"])
        self.assertEqual([row.case for row in session.rows], ["a"])

    def test_measures_the_peers_alone_when_asked(self) -> None:
        session = FakePrograms(raw=3).session()
        session.measure(Case("a", (RAW,)), ours=False)

        self.assertEqual((session.peer_figures, session.failures), ({"raw a": 3}, []))


if __name__ == "__main__":
    unittest.main()
