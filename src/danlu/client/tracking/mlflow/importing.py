"""Bring runs of MLflow to Danlu, through the door for MLflow's clients: everything arrives as those would send it.

A run that was brought before is passed over: it carries a tag with its old id. What cannot be read is named, and the
others are brought all the same.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, TypeVar
from urllib.parse import quote

from pydantic import RootModel

from danlu.client.http import Http
from danlu.client.tracking.mlflow.databases import DatabaseSource
from danlu.client.tracking.mlflow.folders import FolderSource
from danlu.client.tracking.mlflow.records import MlflowRun, Point, Source
from danlu.client.tracking.mlflow.servers import ServerSource
from danlu.errors import DanluError, InvalidInput, NotFound

OLD_ID = "danlu.imported_from"
PARENT = "mlflow.parentRunId"
POINTS_AT_ONCE, TEXTS_AT_ONCE = 1000, 100
MAX_TAG_CHARS, MAX_PARAM_CHARS, MAX_KEY_CHARS = 8000, 6000, 250
T = TypeVar("T")
_Json = RootModel[dict[str, Any]]


class Imported(NamedTuple):
    runs: dict[str, str]
    """Id in MLflow -> id here, of runs that were brought."""

    num_known: int
    """Runs that were here already."""

    num_points: int
    num_files: int
    problems: list[str]
    """What could not be brought, a sentence each."""


def import_mlflow(
    http: Http,
    source: str,
    *,
    experiment: Optional[str] = None,
    project: Optional[str] = None,
    on_run: Callable[[MlflowRun], None] = lambda _run: None,
) -> Imported:
    """Bring all runs of a folder, a SQLite file or a server. May be repeated."""
    with closing(source_at(source)) as found:
        return _Import(_Door(http, project), found, on_run).all(experiment)


def source_at(text: str) -> Source:
    """What a path or address leads to. Raise InvalidInput when that is no place with runs of MLflow."""
    if text.startswith(("http://", "https://")):
        return ServerSource(text)
    path = Path(text[len("sqlite:///") :] if text.startswith("sqlite:///") else text)
    if path.is_file():
        return DatabaseSource(path)
    for folder in (path, path / "mlruns"):
        if any(folder.glob("*/meta.yaml")):
            return FolderSource(folder)
    raise InvalidInput(
        f"expected a folder mlruns, a SQLite file such as mlflow.db, or the address of a server, got {text!r}"
    )


class _Door:
    """MLflow's calls, to this server."""

    def __init__(self, http: Http, project: Optional[str]) -> None:
        self._http = http
        where = "" if project is None else f"/projects/{quote(project, safe='')}"
        self._base = f"{http.url}/compat/mlflow{where}/api/2.0"
        self._experiments: dict[str, str] = {}

    def post(self, path: str, **values: Any) -> Any:
        response = self._http.send("POST", f"{self._base}/mlflow/{path}", body=_Json(values))
        return json.loads(response.content)

    def put(self, path: str, file: Path) -> None:
        self._http.put_file(f"{self._base}/mlflow-artifacts/artifacts/{quote(path)}", file)

    def experiment(self, name: str) -> str:
        """The id of an experiment, which is made if it is not there."""
        if name not in self._experiments:
            try:
                query = {"experiment_name": name}
                found = self._http.send("GET", f"{self._base}/mlflow/experiments/get-by-name", query=query)
                self._experiments[name] = json.loads(found.content)["experiment"]["experiment_id"]
            except NotFound:
                self._experiments[name] = self.post("experiments/create", name=name)["experiment_id"]
        return self._experiments[name]

    def known(self, experiment_id: str) -> dict[str, str]:
        """Old id -> id of the runs of an experiment that were brought before."""
        found: dict[str, str] = {}
        token = ""
        while True:
            wanted = {"filter": f"tags.{OLD_ID} IS NOT NULL", "run_view_type": "ALL", "page_token": token}
            page = self.post("runs/search", experiment_ids=[experiment_id], **wanted)
            for run in page["runs"]:
                tags = {tag["key"]: tag["value"] for tag in run["data"]["tags"]}
                if run["info"]["status"] != "RUNNING":  # one that is still running was cut off: it is brought again
                    found[tags[OLD_ID]] = run["info"]["run_id"]
            token = page.get("next_page_token", "")
            if not token:
                return found


class _Import:
    def __init__(self, door: _Door, source: Source, on_run: Callable[[MlflowRun], None]) -> None:
        self._door, self._source, self._on_run = door, source, on_run
        self._known: dict[str, dict[str, str]] = {}
        self._new_ids: dict[str, str] = {}
        self._parents: dict[str, str] = {}
        self._problems: list[str] = []
        self._num_known = self._num_points = self._num_files = 0

    def all(self, experiment: Optional[str]) -> Imported:
        brought: dict[str, str] = {}
        for run in self._source.runs(experiment):
            self._on_run(run)
            try:
                experiment_id = self._door.experiment(run.experiment)
                if experiment_id not in self._known:
                    self._known[experiment_id] = self._door.known(experiment_id)
                self._new_ids.update(self._known[experiment_id])
                if run.id in self._new_ids:
                    self._num_known += 1
                    continue
                brought[run.id] = self._new_ids[run.id] = self._one(run, experiment_id)
            except (DanluError, OSError) as error:
                self._problems.append(f"{run.id}: {error}")
        for child, parent in self._parents.items():
            if parent in self._new_ids:
                self._door.post("runs/set-tag", run_id=child, key=PARENT, value=self._new_ids[parent])
        problems = [*self._problems, *self._source.problems()]
        return Imported(brought, self._num_known, self._num_points, self._num_files, problems)

    def _one(self, run: MlflowRun, experiment_id: str) -> str:
        tags = {**run.tags, OLD_ID: run.id}
        parent = tags.pop(PARENT, None)
        tags.pop("mlflow.runName", None)
        start = {} if run.started_at is None else {"start_time": run.started_at}
        made = self._door.post("runs/create", experiment_id=experiment_id, run_name=run.name[:200], **start)
        run_id = str(made["run"]["info"]["run_id"])
        if parent is not None:
            self._parents[run_id] = parent
        for name, values, most in (("tags", tags, MAX_TAG_CHARS), ("params", run.params, MAX_PARAM_CHARS)):
            for some in _batches(self._texts(run, name, values, most), TEXTS_AT_ONCE):
                self._door.post("runs/log-batch", run_id=run_id, **{name: some})
        for points in _batches(self._source.points(run), POINTS_AT_ONCE):
            self._door.post("runs/log-batch", run_id=run_id, metrics=[_sent(point) for point in points])
            self._num_points += len(points)
        with tempfile.TemporaryDirectory() as folder:
            for name, file in self._source.files(run, Path(folder)):
                self._door.put(f"runs/{run_id}/{name}", file)
                self._num_files += 1
        status = run.status if run.status in ("FINISHED", "FAILED", "KILLED") else "KILLED"
        end = {} if run.ended_at is None else {"end_time": run.ended_at}
        self._door.post("runs/update", run_id=run_id, status=status, **end)
        return run_id

    def _texts(self, run: MlflowRun, name: str, values: dict[str, str], most: int) -> Iterator[dict[str, str]]:
        for key, value in values.items():
            if len(key) > MAX_KEY_CHARS or len(value) > most:
                self._problems.append(f"{run.id}: {name}: {key[:60]} was cut: at most {most} characters")
            yield {"key": key[:MAX_KEY_CHARS], "value": value[:most]}


def _sent(point: Point) -> dict[str, Any]:
    value: Any = point.value
    if not math.isfinite(value):
        value = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return {"key": point.key, "value": value, "timestamp": max(0, point.timestamp), "step": point.step}


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
