"""Read MLflow's SQLite file, `mlflow.db`. Never writes to it."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Optional

from danlu.client.tracking.mlflow.folders import files_in, local_path
from danlu.client.tracking.mlflow.records import DATASET, MlflowRun, Point, Source
from danlu.errors import InvalidInput
from danlu.importing.files import open_foreign
from danlu.importing.records import Problems

LARGEST = sys.float_info.max
"""What MLflow stores for infinity, which its databases cannot represent."""

_RUNS = """SELECT r.run_uuid, e.name, r.name, r.status, r.start_time, r.end_time, r.artifact_uri, e.experiment_id
FROM runs r JOIN experiments e ON e.experiment_id = r.experiment_id
WHERE r.lifecycle_stage = 'active' AND e.lifecycle_stage = 'active' ORDER BY r.start_time"""


_INPUT_TABLES = {"inputs", "input_tags", "datasets"}
_INPUTS = """SELECT i.input_uuid, d.name, d.digest, d.dataset_source_type, d.dataset_source, d.dataset_schema,
d.dataset_profile FROM inputs i JOIN datasets d ON d.dataset_uuid = i.source_id
WHERE i.destination_id = ? AND i.source_type = 'DATASET' ORDER BY i.input_uuid"""


class DatabaseSource(Source):
    def __init__(self, file: Path, *, follow_links: bool = False) -> None:
        self._file, self._follow_links = file, follow_links
        self._uris: dict[str, str] = {}
        self._problems = Problems()

    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        with closing(self._open()) as database:
            try:
                rows = database.execute(_RUNS).fetchall()
            except sqlite3.DatabaseError as error:
                raise InvalidInput(f"{self._file} is not a database of MLflow: {error}") from error
            users, tables = self._users(database), _tables(database)
            for run_id, of, name, status, started_at, ended_at, uri, number in rows:
                if experiment not in (None, of):
                    continue
                self._uris[str(run_id)] = str(uri or "")
                yield MlflowRun(
                    id=str(run_id),
                    experiment=str(of),
                    name=str(name or ""),
                    status=str(status or "FINISHED"),
                    started_at=started_at,
                    ended_at=ended_at,
                    params=_texts(database, "SELECT key, value FROM params WHERE run_uuid = ?", run_id),
                    tags=_texts(database, "SELECT key, value FROM tags WHERE run_uuid = ?", run_id),
                    user=users.get(run_id, ""),
                    inputs=tuple(_inputs(database, run_id)) if tables >= _INPUT_TABLES else (),
                    experiment_tags=_tags_of_experiment(database, number) if "experiment_tags" in tables else {},
                )

    def points(self, run: MlflowRun) -> Iterator[Point]:
        query = (
            "SELECT key, value, is_nan, timestamp, step FROM metrics WHERE run_uuid = ? ORDER BY key, timestamp, step"
        )
        with closing(self._open()) as database:
            for key, value, is_nan, timestamp, step in database.execute(query, (run.id,)):
                try:
                    number = math.nan if is_nan else float(value)
                    if abs(number) == LARGEST:
                        number = math.copysign(math.inf, number)
                    yield Point(str(key), number, int(timestamp or 0), int(step or 0))
                except (TypeError, ValueError, OverflowError):
                    self._problems.add(
                        f"{run.id}: a point of metric {str(key)[:60]!r} is no number: {str(value)[:40]!r}"
                    )

    def files(self, run: MlflowRun, _into: Path, /) -> Iterator[tuple[str, Path]]:
        uri = self._uris[run.id]
        try:
            found = local_path(uri)
            if found is None:
                raise ValueError("it is no place on this machine")
            top = self._file.parent / found
            # the database is untrusted and may name any folder of this machine
            is_outside = self._file.parent.resolve() not in top.resolve().parents and top.exists()
        except (OSError, ValueError, RuntimeError) as error:  # no URL, a name that is too long, a loop of links
            self._problems.add(f"{run.id}: its files are at {uri[:200]}, which cannot be read here: {error}"[:500])
            return iter(())
        if is_outside and not self._follow_links:
            self._problems.add(
                f"{run.id}: its files are at {top}, outside of the database's folder; --links brings them"
            )
            return iter(())
        return files_in(top, self._problems, follow_links=self._follow_links)

    def problems(self) -> list[str]:
        return self._problems.all()

    def _users(self, database: sqlite3.Connection) -> dict[str, str]:
        columns = {str(row[1]) for row in database.execute("PRAGMA table_info(runs)")}
        found = database.execute("SELECT run_uuid, user_id FROM runs") if "user_id" in columns else ()
        return {str(run): str(user or "") for run, user in found}

    def _open(self) -> sqlite3.Connection:
        return open_foreign(self._file)


def _tables(database: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _inputs(database: sqlite3.Connection, run_id: str) -> Iterator[dict[str, Any]]:
    for number, *about in database.execute(_INPUTS, (run_id,)).fetchall():
        tags = database.execute("SELECT name, value FROM input_tags WHERE input_uuid = ?", (number,))
        described = {name: str(value) for name, value in zip(DATASET, about) if value is not None}
        yield {"dataset": described, "tags": [{"key": str(key), "value": str(value)} for key, value in tags]}


def _tags_of_experiment(database: sqlite3.Connection, number: Any) -> dict[str, str]:
    return _texts(database, "SELECT key, value FROM experiment_tags WHERE experiment_id = ?", number)


def _texts(database: sqlite3.Connection, query: str, of: Any) -> dict[str, str]:
    """Convert values to text: SQLite columns can hold any type."""
    return {str(key): "" if value is None else str(value) for key, value in database.execute(query, (of,))}
