"""One task of a benchmark: `python3 -m danlu.bench.inside WORK` starts a process for each device of its node."""

from __future__ import annotations

import os
import sys

from danlu.bench.inside.launcher import run_node
from danlu.bench.inside.process import RANK, run_rank

if __name__ == "__main__":
    sys.exit(run_rank(sys.argv[1]) if RANK in os.environ else run_node(sys.argv[1]))
