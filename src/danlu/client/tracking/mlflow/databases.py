"""MLflow's SQLite file, `mlflow.db`. It is only read."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Optional

from danlu.client.tracking.mlflow.folders import files_in, local_path
from danlu.client.tracking.mlflow.records import MlflowRun, Point, Source
from danlu.errors import InvalidInput

_RUNS = """SELECT r.run_uuid, e.name, r.name, r.status, r.start_time, r.end_time, r.artifact_uri
FROM runs r JOIN experiments e ON e.experiment_id = r.experiment_id
WHERE r.lifecycle_stage = 'active' AND e.lifecycle_stage = 'active' ORDER BY r.start_time"""


class DatabaseSource(Source):
    def __init__(self, file: Path) -> None:
        self._file = file
        self._uris: dict[str, str] = {}
        self._problems: list[str] = []

    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        with closing(self._open()) as database:
            try:
                rows = database.execute(_RUNS).fetchall()
            except sqlite3.DatabaseError as error:
                raise InvalidInput(f"{self._file} is not a database of MLflow: {error}") from error
            for run_id, of, name, status, started_at, ended_at, uri in rows:
                if experiment not in (None, of):
                    continue
                self._uris[run_id] = uri or ""
                yield MlflowRun(
                    id=run_id,
                    experiment=of,
                    name=name or "",
                    status=status or "FINISHED",
                    started_at=started_at,
                    ended_at=ended_at,
                    params=dict(database.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run_id,))),
                    tags=dict(database.execute("SELECT key, value FROM tags WHERE run_uuid = ?", (run_id,))),
                )

    def points(self, run: MlflowRun) -> Iterator[Point]:
        query = (
            "SELECT key, value, is_nan, timestamp, step FROM metrics WHERE run_uuid = ? ORDER BY key, timestamp, step"
        )
        with closing(self._open()) as database:
            for key, value, is_nan, timestamp, step in database.execute(query, (run.id,)):
                yield Point(key, math.nan if is_nan else float(value), int(timestamp), int(step))

    def files(self, run: MlflowRun, _into: Path, /) -> Iterator[tuple[str, Path]]:
        top = local_path(self._uris[run.id])
        if top is None:
            self._problems.append(f"{run.id}: its files are at {self._uris[run.id]}, which cannot be read here")
            return iter(())
        return files_in(top if top.is_absolute() else self._file.parent / top)

    def problems(self) -> list[str]:
        return self._problems

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{self._file.absolute().as_uri()}?mode=ro", uri=True)
