"""`kill -9` of a server at random moments, under load."""

from __future__ import annotations

import random
import time
from typing import NamedTuple

from danlu.testing.footprint import Footprint
from danlu.testing.invariants import check_always, check_at_rest
from danlu.testing.load import Load, check_promises
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


class Killed(NamedTuple):
    num_kills: int
    num_early: int
    """Kills while the server was starting."""

    num_jobs: int
    num_repeated: int
    """Submissions that had to be repeated."""

    seconds: float


def kill_under_load(
    server: RunningServer, footprint: Footprint, *, num_kills: int, seed: int, num_threads: int = 2
) -> Killed:
    """Kill and restart; check the invariants after each kill, and every promise at the end. Needs a fresh server."""
    chance = random.Random(seed)
    began = time.monotonic()
    num_early = 0
    server.start()
    load = Load(server, num_threads=num_threads, seed=seed)
    load.start()
    for number in range(num_kills):
        # mostly while it is up; every fourth time while it is starting
        is_early = number % 4 == 3
        if is_early:
            server.kill()
            server.begin()
        # in CPU time of the server: on a busy machine it could otherwise be killed before it did anything
        moment = chance.uniform(0.1, 1.2) if is_early else server.cpu_seconds() + chance.uniform(0.05, 0.5)
        wait_until(lambda moment=moment: server.cpu_seconds() >= moment)  # type: ignore[misc]
        server.kill()
        num_early += is_early
        check_always(server.data_dir, footprint)
        server.start()
        check_always(server.data_dir, footprint)
    num_before = len(load.acknowledged)
    wait_until(lambda: len(load.acknowledged) > num_before, lambda: load.problems)
    load.stop()
    check_promises(load)
    check_at_rest(server.data_dir, footprint)
    return Killed(num_kills, num_early, len(load.acknowledged), load.num_repeated, time.monotonic() - began)
