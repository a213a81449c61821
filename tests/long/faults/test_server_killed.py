"""`kill -9` of the server at twenty random moments under load."""

from __future__ import annotations

import os
import time

import pytest

from danlu.testing.footprint import Footprint
from danlu.testing.killing import kill_under_load
from danlu.testing.serving import RunningServer


@pytest.mark.long
def test_twenty_kills_under_load(hurt: RunningServer, footprint: Footprint) -> None:
    seed = int(os.environ.get("DANLU_FAULT_SEED", "0")) or int(time.time())
    print(f"DANLU_FAULT_SEED={seed} repeats this choice of moments")
    told = kill_under_load(hurt, footprint, num_kills=20, seed=seed)
    print(told)
    assert told.num_kills == 20
    assert told.num_jobs > 20
