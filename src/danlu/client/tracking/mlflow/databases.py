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
from danlu.importing.records import UNREADABLE, Problems

LARGEST = sys.float_info.max
"""What MLflow stores for infinity, which its databases cannot represent."""

_RUNS = """SELECT r.rowid, CASE typeof(r.start_time) WHEN 'integer' THEN r.start_time ELSE 0 END
FROM runs r JOIN experiments e ON e.experiment_id = r.experiment_id
WHERE r.lifecycle_stage = 'active' AND e.lifecycle_stage = 'active' AND (?1 IS NULL OR e.name = ?1)"""
_RUN = """SELECT e.name, r.name, r.status, r.start_time, r.end_time, r.artifact_uri, e.experiment_id
FROM runs r JOIN experiments e ON e.experiment_id = r.experiment_id WHERE r.rowid = ?"""

_INPUT_TABLES = {"inputs", "input_tags", "datasets"}
_INPUTS = """SELECT i.input_uuid, d.name, d.digest, d.dataset_source_type, d.dataset_source, d.dataset_schema,
d.dataset_profile FROM inputs i JOIN datasets d ON d.dataset_uuid = i.source_id
WHERE i.destination_id = ? AND i.source_type = 'DATASET' ORDER BY i.input_uuid"""


class DatabaseSource(Source):
    def __init__(self, file: Path, *, follow_links: bool = False) -> None:
        self._file, self._follow_links = file, follow_links
        self._uris: dict[str, str] = {}
        self._tags: dict[Any, dict[str, str]] = {}
        """Number of an experiment -> its tags."""

        self._problems = Problems()

    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        with closing(self._open()) as database:
            rows, tables = self._rows_of_runs(database, experiment), _tables(database)
            for row in rows:
                named = f"{self._file}: the run in row {row}"
                try:
                    named = run_id = str(_one(database, "SELECT run_uuid FROM runs WHERE rowid = ?", row)[0])
                    run = self._run(database, row, run_id, tables=tables)
                except (sqlite3.Error, *UNREADABLE) as error:
                    self._problems.add(f"{named}: {error}")
                    continue
                yield run

    def _rows_of_runs(self, database: sqlite3.Connection, experiment: Optional[str]) -> list[int]:
        """Return the rows of runs that are not deleted, in the order in which they started. Only numbers are read
        here: one damaged run must not hide the others."""
        found: list[tuple[int, int]] = []
        try:
            for row, started_at in database.execute(_RUNS, (experiment,)):
                found.append((started_at, row))
        except sqlite3.DatabaseError as error:
            if not found:
                raise InvalidInput(f"{self._file} is not a database of MLflow: {error}") from error
            self._problems.add(f"{self._file}: the runs after the first {len(found)} cannot be read: {error}")
        return [row for _, row in sorted(found)]

    def _run(self, database: sqlite3.Connection, row: int, run_id: str, *, tables: set[str]) -> MlflowRun:
        of, name, status, started_at, ended_at, uri, number = _one(database, _RUN, row)
        self._uris[run_id] = str(uri or "")
        if number not in self._tags and "experiment_tags" in tables:
            query = "SELECT key, value FROM experiment_tags WHERE experiment_id = ?"
            self._tags[number] = self._texts(database, query, number, what=f"tags of the experiment {of}")
        params, tags = (f"SELECT key, value FROM {table} WHERE run_uuid = ?" for table in ("params", "tags"))
        return MlflowRun(
            id=run_id,
            experiment=str(of),
            name=str(name or ""),
            status=str(status or "FINISHED"),
            started_at=started_at,
            ended_at=ended_at,
            params=self._texts(database, params, run_id, what=f"{run_id}: its parameters"),
            tags=self._texts(database, tags, run_id, what=f"{run_id}: its tags"),
            user=_user(database, row),
            inputs=tuple(self._inputs(database, run_id)) if tables >= _INPUT_TABLES else (),
            experiment_tags=self._tags.get(number, {}),
        )

    def points(self, run: MlflowRun) -> Iterator[Point]:
        query = (
            "SELECT key, value, is_nan, timestamp, step FROM metrics WHERE run_uuid = ? ORDER BY key, timestamp, step"
        )
        with closing(self._open()) as database:
            rows = self._rows(database, query, run.id, what=f"{run.id}: its metrics")
            for key, value, is_nan, timestamp, step in rows:
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

    def _open(self) -> sqlite3.Connection:
        return open_foreign(self._file)

    def _inputs(self, database: sqlite3.Connection, run_id: str) -> Iterator[dict[str, Any]]:
        for number, *about in self._rows(database, _INPUTS, run_id, what=f"{run_id}: its data sets"):
            query = "SELECT name, value FROM input_tags WHERE input_uuid = ?"
            tags = self._texts(database, query, number, what=f"{run_id}: tags of a data set")
            described = {name: str(value) for name, value in zip(DATASET, about) if value is not None}
            yield {"dataset": described, "tags": [{"key": key, "value": value} for key, value in tags.items()]}

    def _texts(self, database: sqlite3.Connection, query: str, of: Any, *, what: str) -> dict[str, str]:
        """Convert values to text: SQLite columns can hold any type."""
        return {
            str(key): "" if value is None else str(value) for key, value in self._rows(database, query, of, what=what)
        }

    def _rows(self, database: sqlite3.Connection, query: str, of: Any, *, what: str) -> Iterator[tuple[Any, ...]]:
        """Yield rows until one cannot be read, which is reported."""
        try:
            yield from database.execute(query, (of,))
        except sqlite3.Error as error:
            self._problems.add(f"{what} cannot be read to their end: {error}")


def _tables(database: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _one(database: sqlite3.Connection, query: str, row: int) -> Any:
    """Return the row of this number. Raise TypeError where a damaged database has none."""
    (*found,) = database.execute(query, (row,)).fetchone()
    return found


def _user(database: sqlite3.Connection, row: int) -> str:
    """Return the user of a run; databases of newer versions of MLflow have none."""
    columns = {str(column[1]) for column in database.execute("PRAGMA table_info(runs)")}
    return str(_one(database, "SELECT user_id FROM runs WHERE rowid = ?", row)[0] or "") if "user_id" in columns else ""
