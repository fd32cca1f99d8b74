"""The command line of scripts/tune."""

import sys

from benchmarks.tune.cli import main

sys.exit(main(sys.argv[1:]))
