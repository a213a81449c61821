"""Invariants that hold after every fault. They are checked in the database and on the machine, not through the API."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from danlu.spec.reasons import CATALOGUE
from danlu.spec.states import ATTEMPT_NEXT, TASK_ENDS, AttemptState, JobState, TaskState, is_final, is_live, is_over
from danlu.store.logs.segments import LogFiles
from danlu.testing.footprint import Footprint
from danlu.testing.waiting import HANG_SECONDS, wait_until

_LIVE_ATTEMPTS = {state.value for state in ATTEMPT_NEXT}
_ENDED_TASKS = {state.value for state in TASK_ENDS}


def check_always(data_dir: Path, footprint: Footprint) -> None:
    """Raise AssertionError if an invariant that must always hold is violated, whatever was killed."""
    with _reading(data_dir) as database:
        broken = [*_jobs_and_attempts(database), *_devices(database), *_ends(database), *_logs(database, data_dir)]
        broken += _drained(database)
    broken += _one_attempt_runs(footprint)
    assert not broken, "\n".join(broken)


def check_at_rest(data_dir: Path, footprint: Footprint) -> None:
    """Raise AssertionError unless all jobs have ended and nothing is left of them.

    Waits for leftovers to disappear, because the last process of a task records the end before it exits.
    """
    check_always(data_dir, footprint)
    with _reading(data_dir) as database:
        open_jobs = [f"{row['id']} is {row['state']}" for row in _rows(database, "jobs") if not _is_over(row)]
        kept = {f"{row['job_id']}/{row['number']}" for row in _rows(database, "attempts") if _keeps_its_folder(row)}
        claims = [f"device {dict(row)} is not free" for row in _rows(database, "device_claims")]
        (sound,) = database.execute("PRAGMA integrity_check").fetchone()
    assert not open_jobs, "\n".join(open_jobs)
    assert not claims, "\n".join(claims)
    assert sound == "ok", sound

    def left() -> list[str]:
        return footprint.left() + [f"folder {name}" for name in footprint.folders() if name not in kept]

    wait_until(lambda: not left(), lambda: "\n".join(left()))


def _jobs_and_attempts(database: sqlite3.Connection) -> Iterator[str]:
    """A live job has exactly one live attempt, its newest; other jobs have none."""
    live: dict[str, list[int]] = {}
    for row in _rows(database, "attempts"):
        if row["state"] in _LIVE_ATTEMPTS:
            live.setdefault(row["job_id"], []).append(row["number"])
    for row in _rows(database, "jobs"):
        wanted = [row["attempt"]] if is_live(JobState(row["state"])) else []
        if live.get(row["id"], []) != wanted:
            yield f"{row['id']} is {row['state']} (attempt {row['attempt']}), live: {live.get(row['id'], [])}"


def _devices(database: sqlite3.Connection) -> Iterator[str]:
    """Device claims are exactly those of live attempts, and no device is in two tasks."""
    given: dict[tuple[str, str, int], list[str]] = {}
    jobs = {row["id"]: row for row in _rows(database, "jobs")}
    live = {(row["job_id"], row["number"]) for row in _rows(database, "attempts") if row["state"] in _LIVE_ATTEMPTS}
    for task in _rows(database, "tasks"):
        if (task["job_id"], task["attempt"]) not in live:
            continue
        kind = json.loads(jobs[task["job_id"]]["spec"])["resources"]["device"].partition(":")[0]
        for device in json.loads(task["device_ids"]):
            key = (task["node"], kind, device)
            given.setdefault(key, []).append(f"{task['job_id']}/{task['attempt']}/{task['rank']}")
    yield from (f"device {key} is given twice: {tasks}" for key, tasks in given.items() if len(tasks) > 1)
    claimed = {(row["node"], row["type"], row["device_id"]) for row in _rows(database, "device_claims")}
    if claimed != set(given):
        yield f"claimed but not in use, or the other way round: {sorted(claimed ^ set(given))}"


def _drained(database: sqlite3.Connection) -> Iterator[str]:
    """Nothing was started on a node after it was drained."""
    since = {row["node"]: row["at"] for row in _rows(database, "drains")}
    began = {(row["job_id"], row["number"]): row["started_at"] for row in _rows(database, "attempts")}
    for row in _rows(database, "tasks"):
        at = since.get(row["node"])
        if at is not None and began[row["job_id"], row["attempt"]] > at:
            yield f"rank {row['rank']} of {row['job_id']} was started on {row['node']}, which is drained since {at}"


def _ends(database: sqlite3.Connection) -> Iterator[str]:
    """Every job has a reason of the catalogue, and nothing ended before it began."""
    for row in _rows(database, "jobs"):
        if row["reason_code"] not in CATALOGUE or not row["reason_message"]:
            yield f"{row['id']} is {row['state']} for no reason of the catalogue: {row['reason_code']!r}"
        if _is_over(row) and (row["ended_at"] is None or _is_negative(row)):
            yield f"{row['id']} ended at {row['ended_at']}, began at {row['started_at']}"
    for row in _rows(database, "attempts"):
        name = f"attempt {row['number']} of {row['job_id']}"
        if row["reason_code"] not in CATALOGUE:
            yield f"{name} is {row['state']} for no reason of the catalogue: {row['reason_code']!r}"
        if is_final(AttemptState(row["state"])) and (row["ended_at"] is None or _is_negative(row)):
            yield f"{name} ended at {row['ended_at']}, began at {row['started_at']}"
        if is_final(AttemptState(row["state"])) and row["token_digest"] is not None:
            yield f"{name} is over, but its token is not revoked"
    ends = {(row["job_id"], row["number"]): is_final(AttemptState(row["state"])) for row in _rows(database, "attempts")}
    for row in _rows(database, "tasks"):
        name = f"rank {row['rank']} of {row['job_id']}/{row['attempt']}"
        if ends[row["job_id"], row["attempt"]] and row["state"] not in _ENDED_TASKS:
            yield f"{name} is {TaskState(row['state'])} in an attempt that is over"
        if _is_negative(row):
            yield f"{name} ended at {row['ended_at']}, before it began at {row['started_at']}"


def _logs(database: sqlite3.Connection, data_dir: Path) -> Iterator[str]:
    """The files contain all bytes that the database lists."""
    files = LogFiles(data_dir / "server" / "logs")
    sizes: dict[tuple[str, int, int], int] = {}
    for row in _rows(database, "log_segments"):
        key = (row["job_id"], row["attempt"], row["rank"])
        sizes[key] = sizes.get(key, 0) + row["size"]
        found = len(files.read(*key, start=row["start"], at=0, size=row["size"]))
        if found < row["size"]:
            yield f"the log of {key} has {row['size']} bytes at {row['start']}, its file only {found}"
    for row in _rows(database, "tasks"):
        key = (row["job_id"], row["attempt"], row["rank"])
        if sizes.get(key, 0) != row["log_bytes"]:
            yield f"the log of {key} has {row['log_bytes']} bytes, its segments {sizes.get(key, 0)}"


def _one_attempt_runs(footprint: Footprint) -> list[str]:
    """All running commands of a job on this machine are of one attempt."""
    running: dict[str, set[str]] = {}
    for process in footprint.look():
        if process.job:
            running.setdefault(process.job, set()).add(process.attempt)
    return [f"attempts {sorted(numbers)} of {job} run at once" for job, numbers in running.items() if len(numbers) > 1]


def _is_over(row: sqlite3.Row) -> bool:
    return is_over(JobState(row["state"]))


def _keeps_its_folder(row: sqlite3.Row) -> bool:
    """Whether the folder of an attempt is kept, because its output could not be uploaded."""
    return not row["is_output_complete"]


def _is_negative(row: sqlite3.Row) -> bool:
    return row["started_at"] is not None and row["ended_at"] is not None and row["ended_at"] < row["started_at"]


def _rows(database: sqlite3.Connection, table: str) -> list[Any]:
    return database.execute(f"SELECT * FROM {table}").fetchall()


@contextmanager
def _reading(data_dir: Path) -> Iterator[sqlite3.Connection]:
    """A read transaction of the database: everything is read from one snapshot."""
    path = data_dir / "server" / "danlu.db"
    assert os.path.exists(path), path
    with closing(sqlite3.connect(path, timeout=HANG_SECONDS, isolation_level=None)) as database:
        database.row_factory = sqlite3.Row
        database.execute("BEGIN")
        yield database
