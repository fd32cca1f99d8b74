"""Brings the release with its benchmark programs up to date.

What the build needs is there already: scripts/bench runs scripts/setup first.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (
    ("cmake", "--preset", "release", "-DMUSTER_BENCHMARKS=ON"),
    ("cmake", "--build", "--preset", "release", "--target", "muster_programs"),
)

# As scripts/test has it, so that what was compiled once serves here too.
COMPILER = {
    "CXX": "/usr/bin/c++",
    "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
    "CCACHE_BASEDIR": str(ROOT),
    "CCACHE_NOHASHDIR": "1",
}


class BuildError(Exception):
    pass


def build() -> Path:
    """Builds, and gives the folder of the programs. Says little unless it fails."""
    for command in COMMANDS:
        _run(command)
    return ROOT / "build" / "release" / "benchmarks"


VENV = ROOT / "build" / "bench-python"
# Each program is a module of benchmarks/python.
PROGRAMS = {
    "muster": "ours",
    "pyzmq": "peer_pyzmq",
    "pyzmq-nocopy": "peer_pyzmq",
    "ray": "peer_ray",
    "mpi4py": "peer_mpi4py",
}


def build_python() -> Path:
    """An environment of its own, with the package and its peers, and a program for each."""
    if not (VENV / "bin" / "pip").exists():
        _run(("/usr/bin/python3", "-m", "venv", str(VENV)))
    pip = (str(VENV / "bin" / "pip"), "install", "--quiet")
    _run((*pip, "--requirement", "benchmarks/python/requirements.txt"))
    _run((*pip, "--force-reinstall", "--no-deps", "."))
    programs = VENV / "programs"
    programs.mkdir(exist_ok=True)
    for name, module in PROGRAMS.items():
        program = programs / f"bench_{name}"
        program.write_text(
            f"#!/bin/sh\nexport BENCH_NAME={name} PYTHONPATH={ROOT}\n"
            f'exec {VENV}/bin/python -B -m benchmarks.python.{module} "$@"\n'
        )
        program.chmod(0o755)
    # Our own in C++, as the peer of what is built upon it.
    cpp = programs / "bench_c++"
    cpp.unlink(missing_ok=True)
    cpp.symlink_to(build() / "bench_muster")
    return programs


def _run(command: Sequence[str]) -> None:
    print("running:", " ".join(command), file=sys.stderr)
    done = subprocess.run(
        command,
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **COMPILER},
    )
    if done.returncode != 0:
        raise BuildError(f"{' '.join(command)} failed:\n{done.stdout}")


BUILDS: Mapping[str, Callable[[], Path]] = {"c++": build, "python": build_python}
