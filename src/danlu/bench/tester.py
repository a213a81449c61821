"""A Tester: results are posted to a collecting server, which ranks them by suite.

Any Danlu server can be one: a record is an object `bench-results/SUITE/RUN.json` of a bucket there. Any other gets the
record as JSON with POST.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from danlu.bench.report import Report, Verdict
from danlu.bench.suite import Better
from danlu.client import Client
from danlu.client.posting import post_json
from danlu.errors import InvalidInput, RequestTimeout, TooManyRequests, Unavailable
from danlu.transfer.retrying import Backoff

T = TypeVar("T")
FOLDER = "bench-results"
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
UNSET_TIME = "2020-01-30 14:16:00"
"""AIS-Bench's value for times that are not set."""


class Entry(BaseModel):
    """A row of a leaderboard."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    run: str
    suite: str
    who: str
    measure: str
    unit: str
    better: Better
    value: float
    nodes: int
    num_ranks: int


def record_of(report: Report, *, who: str) -> dict[str, Any]:
    """The record of a run: leaderboard row, AIS-Bench's `train_result_info`, facts about the machines, the report."""
    main = report.main
    if main is None or report.verdict is not Verdict.PASSED:
        raise InvalidInput(f"{report.run} {report.verdict}: only runs that passed are posted")
    last = report.jobs[-1]
    entry = Entry(
        run=report.run,
        suite=report.suite.name,
        who=who,
        measure=report.suite.main_measure,
        unit=main.unit,
        better=main.better,
        value=main.value,
        nodes=last.job.nodes,
        num_ranks=last.num_ranks,
    )
    return {
        "entry": entry.model_dump(mode="json"),
        "train_result_info": _train_result(report),
        "system": [one.model_dump(mode="json") for one in last.servers],
        "report": report.model_dump(mode="json"),
    }


def post(
    tester: Client,
    record: dict[str, Any],
    *,
    bucket: str,
    limit_seconds: float,
    pause: Callable[[float], None] = time.sleep,
) -> str:
    """Post a record to a Danlu server and return its path. Retried until the limit while the server is unavailable.

    Idempotent: posting a run again replaces its record.
    """
    entry = Entry.model_validate(record["entry"])
    target = f"{bucket}/{FOLDER}/{entry.suite}/{entry.run}.json"
    with TemporaryDirectory(prefix="danlu-bench-") as name:
        local = Path(name) / "record.json"
        local.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
        (stored,) = _until_taken(lambda: tester.store.upload(local, target), limit_seconds=limit_seconds, pause=pause)
    return stored


def post_plain(
    url: str,
    record: dict[str, Any],
    *,
    key: str,
    limit_seconds: float,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Post a record as JSON to any URL. Retried until it is accepted or rejected, or the limit is over.

    The header Idempotency-Key is the id of the run.
    """
    run = Entry.model_validate(record["entry"]).run
    _until_taken(lambda: post_json(url, record, key=key, request_id=run), limit_seconds=limit_seconds, pause=pause)


def board(tester: Client, suite: str, *, bucket: str) -> list[Entry]:
    """The records of a suite, best first. Invalid ones are skipped."""
    found = []
    with TemporaryDirectory(prefix="danlu-bench-") as name:
        if not tester.store.exists(f"{bucket}/{FOLDER}/{suite}/"):
            return []
        for path in tester.store.download(f"{bucket}/{FOLDER}/{suite}/", Path(name)):
            try:
                found.append(_Record.model_validate_json(path.read_text(encoding="utf-8")).entry)
            except (ValidationError, UnicodeDecodeError):
                continue
    return sorted(found, key=lambda one: one.value if one.better is Better.LOWER else -one.value)


def _until_taken(send: Callable[[], T], *, limit_seconds: float, pause: Callable[[float], None]) -> T:
    backoff = Backoff(limit_seconds, first_seconds=FIRST_PAUSE_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS)
    while True:
        try:
            return send()
        except (Unavailable, TooManyRequests, RequestTimeout):
            seconds = backoff.failed()
            if seconds is None:
                raise
        pause(seconds)


class _Record(BaseModel):
    entry: Entry


def _train_result(report: Report) -> dict[str, Any]:
    measures = report.jobs[-1].measures
    throughput, accuracy, power = (measures.get(name) for name in ("throughput", "accuracy", "average_power"))
    job = report.jobs[-1].job
    times = {
        "start_time": f"{job.started_at:%Y-%m-%d %H:%M:%S}" if job.started_at else UNSET_TIME,
        "end_time": f"{job.ended_at:%Y-%m-%d %H:%M:%S}" if job.ended_at else UNSET_TIME,
    }
    unset = {f"{part}_{name}": UNSET_TIME for part in ("dataload", "prepare") for name in times}
    return {
        "accuracy": str(accuracy.value) if accuracy else "0",
        "throughput_ratio": str(throughput.value) if throughput else "0",
        "average_power": power.value if power else 0,
        "max_power": 0,
        "energy_consumption": 0,
        "efficientcy": 0,
        "resource_util_ratio": 0,
        **unset,
        **{f"{part}_{name}": value for part in ("proc", "total") for name, value in times.items()},
    }
