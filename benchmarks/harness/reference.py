"""What the peers are expected to reach on a known processor.

A peer that is much slower than it was when it was measured with care makes
ours look good for nothing; then the comparison is not worth printing.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.stats import speed

TOLERANCE = 0.25
TABLES = Path(__file__).with_name("reference.json")


@dataclass(frozen=True)
class Reference:
    """Expected figures of one model of processor, by "peer case"."""

    cpu: str
    source: str
    figures: Mapping[str, float]

    def complaint(self, peer: str, case: str, found: float, *, lower_is_better: bool) -> str | None:
        """A sentence when the peer's figure is too far below what is expected."""
        expected = self.figures.get(f"{peer} {case}")
        if expected is None:
            return None
        share = speed(found, expected, lower_is_better=lower_is_better)
        if share >= 1 - TOLERANCE:
            return None
        return (
            f"{peer} {case}: {found:.4g} where {expected:.4g} is expected on this processor,"
            f" {share:.0%} of its speed; the comparison does not count"
        )


def cpu_model(cpuinfo: str) -> str:
    """Names the processor the way the tables do: "GenuineIntel family 6 model 207"."""

    def value(name: str) -> str:
        found = re.search(rf"^{name}\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
        return found[1].strip() if found else "unknown"

    return f"{value('vendor_id')} family {value('cpu family')} model {value('model')}"


def load(cpu: str, tables: Path = TABLES) -> Reference | None:
    """The table of this processor; None when there is none."""
    found = json.loads(tables.read_text()).get(cpu)
    if found is None:
        return None
    return Reference(cpu, found["source"], found["figures"])


def this_cpu() -> str:
    return cpu_model(Path("/proc/cpuinfo").read_text())
