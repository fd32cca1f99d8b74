"""What all tests share: where the examples are."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import cartpole  # noqa: E402, F401  Before numpy, for its word on threads.
