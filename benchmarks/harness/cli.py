"""The command line of scripts/bench.

Results on stdout, words on stderr. Exit status 0: everything was measured,
whether or not every bar was met; 1: something was not, or a peer was slower
than it should be; 2: wrong use.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.harness import program, reference
from benchmarks.harness.build import BUILDS, BuildError
from benchmarks.harness.session import Session
from benchmarks.harness.suite import Case, Suite
from benchmarks.harness.suites import SUITES


@dataclass(frozen=True)
class Effort:
    pairs: int = 9
    seconds: float = 0.5


QUICK = Effort(pairs=3, seconds=0.15)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench", description="Compares ours with its peers.")
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--quick", action="store_true", help="three short pairs of each")
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    parser.add_argument("--case", metavar="PATTERN", default="*", help="only cases like this")
    parser.add_argument("--pairs", metavar="N", type=_positive, help="samples of each (9)")
    parser.add_argument("--bin", metavar="DIR", type=Path, help="use these programs, build nothing")
    parser.add_argument(
        "--reference", action="store_true", help="measure the peers alone, print their figures"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    cases = _cases_of(SUITES[options.suite], options)
    if not cases:
        _say(f"no case of {options.suite} is like {options.case}")
        return 2
    try:
        return _run(options, cases)
    except BuildError as error:
        _say(f"failed: {error}")
        return 1


def _cases_of(suite: Suite, options: argparse.Namespace) -> list[Case]:
    cases = [case for case in suite.cases if fnmatchcase(case.name, options.case)]
    if options.quick and suite.quick and options.case == "*":
        cases = [case for case in cases if case.name in suite.quick]
    return cases


def _run(options: argparse.Namespace, cases: Sequence[Case]) -> int:
    effort = QUICK if options.quick else Effort()
    if options.pairs is not None:
        effort = replace(effort, pairs=options.pairs)
    programs = options.bin or BUILDS[SUITES[options.suite].language]()

    def run(contender: str, case: str) -> program.Measured:
        return program.run(programs / f"bench_{contender}", case, effort.seconds)

    session = Session(run, effort.pairs, _say, _reference())
    for case in cases:
        before = len(session.rows)
        session.measure(case, ours=not options.reference)
        for row in session.rows[before:]:
            print(row.to_line(), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.reference:
        print(json.dumps({reference.this_cpu(): session.peer_figures}, indent=2))
    elif options.json:
        print(json.dumps([row.to_json() for row in session.rows], indent=2))
    return _conclude(session)


def _reference() -> reference.Reference | None:
    cpu = reference.this_cpu()
    table = reference.load(cpu)
    if table is None:
        _say(f"no reference figures for this CPU exist ({cpu}): peers are not checked against them")
    return table


def _conclude(session: Session) -> int:
    barred = [row for row in session.rows if row.bar is not None]
    if barred:
        _say(f"{sum(row.met for row in barred)} of {len(barred)} bars met")
    for failure in session.failures:
        _say(f"failed: {failure}")
    return 1 if session.failures else 0


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
