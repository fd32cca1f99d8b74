"""`python3 -m benchmarks.harness`, which is what scripts/bench runs."""

import sys

from benchmarks.harness.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
