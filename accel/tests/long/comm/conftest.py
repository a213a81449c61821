"""The everyday suite's ranks, for campaigns."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location("comm_ranks", Path(__file__).parents[2] / "comm" / "conftest.py")
assert _spec is not None
assert _spec.loader is not None
_ranks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_ranks)

rank_processes = _ranks.rank_processes
run_ranks = _ranks.run_ranks
