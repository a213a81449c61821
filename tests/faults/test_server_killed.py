"""`kill -9` of the server at random moments under load. `tests/long/faults` has more of it."""

from __future__ import annotations

from danlu.testing.footprint import Footprint
from danlu.testing.killing import kill_under_load
from danlu.testing.serving import RunningServer


def test_three_kills_under_load(hurt: RunningServer, footprint: Footprint) -> None:
    told = kill_under_load(hurt, footprint, num_kills=3, seed=1, num_threads=1)
    assert told.num_jobs > 3
