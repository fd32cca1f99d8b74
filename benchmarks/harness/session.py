"""Measures the cases of a suite one after the other and keeps what was found."""

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.harness.program import Measured, NotMeasurableError, ProgramError, Sample
from benchmarks.harness.reference import Reference
from benchmarks.harness.rows import Row, limit_row, peer_row
from benchmarks.harness.sampling import Rounds, take_rounds
from benchmarks.harness.stats import spread
from benchmarks.harness.suite import OURS, Case, Peer

RunCase = Callable[[str, str], Measured]
"""Runs a contender's program once, on the case of that name."""


@dataclass
class Session:
    """Rows, and the sentences of what went wrong (`failures`)."""

    run: RunCase
    pairs: int
    say: Callable[[str], None]
    reference: Reference | None = None
    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    peer_figures: dict[str, float] = field(default_factory=dict)

    def measure(self, case: Case, *, ours: bool = True) -> None:
        """Ours against every peer of the case, or (not `ours`) the peers alone.

        A program that fails costs this case, not those before and after it.
        """
        try:
            self._measure(case, ours)
        except ProgramError as error:
            self.failures.append(f"{case.name}: {error}")

    def _measure(self, case: Case, ours: bool) -> None:
        names = {peer.name: peer.case or case.name for peer in case.peers}
        if ours:
            names = {OURS: case.name, **names}
        names = {who: name for who, name in names.items() if self._can_run(who, name, case)}
        if not names or (ours and OURS not in names):
            return

        def run(contender: str) -> Measured:
            return self.run(contender, names[contender])

        rounds = take_rounds(list(names), self.pairs, run)
        self._report_noise(case, rounds)
        for peer in (peer for peer in case.peers if peer.name in names):
            self._check_peer(peer, names[peer.name], rounds.of(peer.name))
        if ours:
            self._add_rows(case, rounds, names)

    def _can_run(self, contender: str, name: str, case: Case) -> bool:
        """Tries it once, which also warms what is to be warmed."""
        try:
            self.run(contender, name)
        except NotMeasurableError as error:
            if any(peer.name == contender and peer.at_least is None for peer in case.peers):
                self.say(f"{case.name}: left out: {error}")
            else:
                self.failures.append(f"{case.name}: not measured: {error}")
            return False
        return True

    def _report_noise(self, case: Case, rounds: Rounds) -> None:
        if rounds.retakes:
            self.say(f"{case.name}: {rounds.retakes} samples taken again, others were busy")
        if rounds.given_up:
            self.failures.append(
                f"{case.name}: {rounds.given_up} samples given up: the machine was not quiet"
            )

    def _check_peer(self, peer: Peer, name: str, samples: list[Sample]) -> None:
        if not samples:
            return
        figure = spread([sample.value for sample in samples]).median
        self.peer_figures[f"{peer.name} {name}"] = figure
        if self.reference is None or peer.at_least is None:
            return
        complaint = self.reference.complaint(
            peer.name, name, figure, lower_is_better=samples[0].lower_is_better
        )
        if complaint:
            self.failures.append(complaint)

    def _add_rows(self, case: Case, rounds: Rounds, names: dict[str, str]) -> None:
        found = [peer_row(case, peer, rounds) for peer in case.peers if peer.name in names]
        found += [limit_row(case, limit, rounds) for limit in case.limits]
        self.rows += [row for row in found if row is not None]
        if None in found:
            self.failures.append(f"{case.name}: no clean pair of samples")
