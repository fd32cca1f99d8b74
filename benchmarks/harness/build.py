"""Brings the release with its benchmark programs up to date.

What the build needs is there already: scripts/bench runs scripts/setup first.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    ("cmake", "--preset", "release", "-DMUSTER_BENCHMARKS=ON"),
    ("cmake", "--build", "--preset", "release", "--target", "muster_programs"),
)


class BuildError(Exception):
    pass


def build() -> Path:
    """Builds, and gives the folder of the programs. Says little unless it fails."""
    for command in COMMANDS:
        print("running:", " ".join(command), file=sys.stderr)
        done = subprocess.run(
            command,
            cwd=ROOT,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            raise BuildError(f"{' '.join(command)} failed:\n{done.stdout}")
    return ROOT / "build" / "release" / "benchmarks"
