"""`danlu up` on simulated nodes, which records the duration of each tick of its scheduler.

    python timed_server.py ANY ANY ANY up --engine simulated ...      RunningServer puts it before a command

Appends a line per tick to the file in DANLU_BENCH_TICKS: seconds, and seconds of CPU time.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

from danlu.cli import main
from danlu.engines import registry
from danlu.scheduler.loop import Scheduler

TICKS = "DANLU_BENCH_TICKS"
SKIPPED_WORDS = 3
"""The command that this one replaces: python -m danlu."""


class TimedScheduler(Scheduler):
    ticks: TextIO

    def tick(self, *, watch: bool = True) -> float:
        began, used = time.perf_counter(), time.thread_time()
        try:
            return super().tick(watch=watch)
        finally:
            print(time.perf_counter() - began, time.thread_time() - used, file=self.ticks, flush=True)


if __name__ == "__main__":
    import danlu.server.main as server

    with open(os.environ[TICKS], "a") as opened:
        TimedScheduler.ticks = opened
        server.Scheduler = TimedScheduler  # type: ignore[misc]
        registry.BUILTIN["simulated"] = "danlu.testing.simulated:SimulatedEngine"
        sys.argv = ["danlu", *sys.argv[1 + SKIPPED_WORDS :]]
        main()
