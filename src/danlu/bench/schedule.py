"""Scheduled runs: a job on the server starts them, so that the user's machine need not stay up.

The job runs `python3 -m danlu.bench.schedule` in the name of its owner (`access: owner`) until it is stopped.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

from danlu.bench import runs
from danlu.bench.suite import Mode, Suite, parse_suite
from danlu.client import Client, Job
from danlu.errors import DanluError, InvalidInput

NAME = "bench-schedule"
DAY_SECONDS = 86400.0


def submit_schedule(
    client: Client, suite: Suite, *, mode: Mode, at: Optional[str] = None, every_seconds: float = DAY_SECONDS
) -> Job:
    """Submit the job that starts runs: daily at a time (`02:30`, UTC), or every `every_seconds`."""
    if at is not None:
        parse_time(at)
    return client.jobs.submit(
        name=f"{NAME}-{suite.name}",
        command=["python3", "-m", "danlu.bench.schedule"],
        access="owner",
        hyperparameters={
            "suite": suite.model_dump(mode="json"),
            "mode": str(mode),
            "at": at,
            "every_seconds": every_seconds,
        },
        tags={"bench-schedule": suite.name},
        retry={"max": 100},
    )


def parse_time(text: str) -> tuple[int, int]:
    """Hour and minute of `02:30`. Raise InvalidInput."""
    try:
        found = datetime.strptime(text, "%H:%M")
    except ValueError as error:
        raise InvalidInput(f"expected a time such as 02:30, got {text!r}", fields={"at": text}) from error
    return found.hour, found.minute


def next_at(now: datetime, at: str) -> datetime:
    """The next moment after `now` with this time of day."""
    hour, minute = parse_time(at)
    today = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


def moments(now: datetime, *, at: Optional[str], every_seconds: float) -> Iterator[datetime]:
    moment = now
    while True:
        moment = next_at(moment, at) if at is not None else moment + timedelta(seconds=every_seconds)
        yield moment


def main() -> None:
    with open(os.environ["DANLU_HYPERPARAMETERS"], encoding="utf-8") as file:
        told: dict[str, Any] = json.load(file)
    suite = parse_suite(told["suite"], where="the schedule")
    begun = datetime.now(timezone.utc)
    with Client() as client:
        for moment in moments(begun, at=told.get("at"), every_seconds=float(told["every_seconds"])):
            late = (datetime.now(timezone.utc) - moment).total_seconds()
            if late > 0 and told.get("at") is None:
                continue  # the previous run took longer
            time.sleep(max(0.0, -late))
            _run_once(client, suite, Mode(told["mode"]))


def _run_once(client: Client, suite: Suite, mode: Mode) -> None:
    """Run the suite once. Errors are printed, and do not end the schedule."""
    try:
        run = runs.start(client, suite, mode=mode)
        sys.stdout.write(f"started {run.id}\n")
        sys.stdout.flush()
        runs.wait(run)
        report = runs.make_report(client, run)
        runs.keep_report(client, run, report=report)
        sys.stdout.write(f"{run.id} {report.verdict}: {'; '.join(report.problems) or 'no problems'}\n")
    except (DanluError, TimeoutError) as error:
        sys.stdout.write(f"{error}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
