"""Import runs of MLflow through Danlu's endpoint for MLflow clients, in the form in which those would send them.

Imported runs are tagged with their old id at the end, and skipped the next time; those of an interrupted import are
moved to the trash then, and imported again. What cannot be read, and what the server refuses, is reported, and the rest
is imported.
"""

from __future__ import annotations

import json
import math
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, TypeVar
from urllib.parse import quote

import httpx
from pydantic import RootModel

from danlu.client.http import Http
from danlu.client.tracking.mlflow.databases import DatabaseSource
from danlu.client.tracking.mlflow.folders import FolderSource
from danlu.client.tracking.mlflow.records import MlflowRun, Point, Source
from danlu.client.tracking.mlflow.servers import ServerSource
from danlu.errors import Conflict, DanluError, InvalidInput, NotFound, NotSignedIn, ServerUnreachable, TooLarge
from danlu.importing.records import Problems, storable
from danlu.spec.paths import check_key

OLD_ID = "danlu.imported_from"
BEGUN = "danlu.import_begun"
"""The old id too, from the request that creates the run: without the other tag, the import was interrupted."""

ORPHAN = "danlu.import_parent"
"""The old id of a parent that was not imported. The next import that finds the parent connects the two."""

PARENT, USER = "mlflow.parentRunId", "mlflow.user"
POINTS_AT_ONCE, TEXTS_AT_ONCE = 1000, 100
BYTES_AT_ONCE, LARGEST_BYTES = 512 << 10, 1_000_000
MAX_PROBLEMS = 2000
LATEST = 253_402_300_799_000
"""End of the year 9999, in milliseconds."""

MAX_STEP = 1 << 62
_OF_FILES = (OSError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError, sqlite3.Error)
"""Errors that reading foreign files may raise."""

_OF_RUNS = (*_OF_FILES, DanluError, httpx.InvalidURL)
"""Errors that end the import of one run: those, and what the server refuses. httpx refuses very long addresses."""

_OF_UPLOADS = (ValueError, InvalidInput, NotFound, TooLarge, Conflict, OSError, httpx.InvalidURL)
"""Errors that concern one file of a run: its name, its size, or reading it. When the run itself is gone, the request
after the files says so."""

MAX_TAG_CHARS, MAX_PARAM_CHARS, MAX_KEY_CHARS = 8000, 6000, 250
T = TypeVar("T")
_Json = RootModel[dict[str, Any]]


class Imported(NamedTuple):
    runs: dict[str, str]
    """Id in MLflow -> id here, of runs that were imported."""

    num_known: int
    """Runs that had been imported before."""

    num_points: int
    num_files: int
    problems: list[str]
    """One sentence for each thing that could not be imported."""


class _Known(NamedTuple):
    """What an experiment has from earlier imports."""

    runs: dict[str, str]
    """Old id -> id, of complete runs."""

    begun: dict[str, list[str]]
    """Old id -> ids, of runs whose import was interrupted."""

    orphans: dict[str, str]
    """Old id -> old id of the parent that was not imported."""


def import_mlflow(
    http: Http,
    source: str,
    *,
    experiment: Optional[str] = None,
    project: Optional[str] = None,
    follow_links: bool = False,
    on_run: Callable[[MlflowRun], None] = lambda _run: None,
) -> Imported:
    """Import all runs of a folder, a SQLite file or a server. Idempotent. `follow_links` also imports files outside the
    folder that symlinks or the database refer to."""
    with closing(source_at(source, follow_links=follow_links)) as found:
        return _Import(_Door(http, project), found, on_run).all(experiment)


def source_at(text: str, *, follow_links: bool = False) -> Source:
    """Return the source at a path or URL. Raise InvalidInput when it contains no MLflow runs."""
    if text.startswith(("http://", "https://")):
        return ServerSource(text)
    path = Path(text[len("sqlite:///") :] if text.startswith("sqlite:///") else text)
    if path.is_file():
        return DatabaseSource(path, follow_links=follow_links)
    for folder in (path, path / "mlruns"):
        if any(folder.glob("*/meta.yaml")):
            return FolderSource(folder, follow_links=follow_links)
    raise InvalidInput(
        f"expected a folder mlruns, a SQLite file such as mlflow.db, or the address of a server, got {text!r}"
    )


class _Door:
    """Sends MLflow API calls to this server."""

    def __init__(self, http: Http, project: Optional[str]) -> None:
        self._http = http
        where = "" if project is None else f"/projects/{quote(project, safe='')}"
        self._base = f"{http.url}/compat/mlflow{where}/api/2.0"
        self._experiments: dict[str, str] = {}

    def post(self, path: str, **values: Any) -> Any:
        response = self._http.send("POST", f"{self._base}/mlflow/{path}", body=_Json(_storable(values)))
        return json.loads(response.content)

    def put(self, path: str, file: Path) -> None:
        self._http.put_file(f"{self._base}/mlflow-artifacts/artifacts/{quote(storable(path))}", file)

    def experiment(self, name: str, tags: Mapping[str, str]) -> str:
        """Return the id of an experiment. Create it with these tags if it does not exist."""
        name = storable(name)
        if name not in self._experiments:
            try:
                query = {"experiment_name": name}
                found = self._http.send("GET", f"{self._base}/mlflow/experiments/get-by-name", query=query)
                self._experiments[name] = json.loads(found.content)["experiment"]["experiment_id"]
            except NotFound:
                sent = [{"key": key, "value": tags[key][:MAX_TAG_CHARS]} for key in tags if len(key) <= MAX_KEY_CHARS]
                made = self.post("experiments/create", name=name, tags=sent[:TEXTS_AT_ONCE])
                self._experiments[name] = made["experiment_id"]
        return self._experiments[name]

    def known(self, experiment_id: str) -> _Known:
        known = _Known({}, {}, {})
        for tag in (OLD_ID, BEGUN):
            for run in self._tagged(experiment_id, tag):
                tags = {one["key"]: one["value"] for one in run["data"]["tags"]}
                about = run["info"]
                is_active = about["lifecycle_stage"] == "active"
                # Older versions had one tag only, from the beginning: of these, a run that is still running was
                # interrupted. With both tags it is complete, and runs because somebody resumed it.
                if OLD_ID in tags and (BEGUN in tags or about["status"] != "RUNNING"):
                    known.runs[tags[OLD_ID]] = about["run_id"]
                    if ORPHAN in tags and is_active:
                        known.orphans[tags[OLD_ID]] = tags[ORPHAN]
                elif is_active:
                    known.begun.setdefault(tags[tag], []).append(about["run_id"])
        return known

    def _tagged(self, experiment_id: str, tag: str) -> Iterator[dict[str, Any]]:
        token = ""
        while True:
            wanted = {"filter": f"tags.{tag} IS NOT NULL", "run_view_type": "ALL", "page_token": token}
            page = self.post("runs/search", experiment_ids=[experiment_id], **wanted)
            yield from page["runs"]
            token = page.get("next_page_token", "")
            if not token:
                return


class _Import:
    def __init__(self, door: _Door, source: Source, on_run: Callable[[MlflowRun], None]) -> None:
        self._door, self._source, self._on_run = door, source, on_run
        self._seen: set[str] = set()
        """Experiments of which it is known what was imported."""

        self._begun: dict[str, list[str]] = {}
        self._new_ids: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        """Runs that came before their parents."""

        self._orphans: dict[str, str] = {}

        self._refused: set[tuple[str, str, str]] = set()
        self._problems = Problems(most=MAX_PROBLEMS)
        self._num_known = self._num_points = self._num_files = 0

    def all(self, experiment: Optional[str]) -> Imported:
        brought: dict[str, str] = {}
        for run in self._runs(experiment):
            self._on_run(run)
            with self._naming(run.id):
                experiment_id = self._door.experiment(run.experiment, run.experiment_tags)
                self._look_up(experiment_id)
                if run.id in self._new_ids:
                    self._num_known += 1
                    continue
                for half in self._begun.pop(run.id, ()):
                    self._door.post("runs/delete", run_id=half)
                brought[run.id] = self._one(run, experiment_id)
        for old, parent in self._waiting.items():
            with self._naming(old):
                self._complete(old, parent)
        for old, parent in self._orphans.items():
            if parent in self._new_ids:
                with self._naming(old):
                    self._adopt(old, parent)
        problems = [*self._problems.all(), *self._source.problems()]
        return Imported(brought, self._num_known, self._num_points, self._num_files, problems)

    def _runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        """Sources name what they cannot read. An error that none expects must not hide what was imported so far."""
        try:
            yield from self._source.runs(experiment)
        except _OF_FILES as error:
            self._problems.add(f"the runs from here on cannot be read: {error}")

    @contextmanager
    def _naming(self, run: str) -> Iterator[None]:
        """Report the run that fails, so that the others are imported. The next import tries it again."""
        try:
            yield
        except (ServerUnreachable, NotSignedIn):
            raise
        except _OF_RUNS as error:
            self._problems.add(f"{run}: {error}")

    def _look_up(self, experiment_id: str) -> None:
        if experiment_id in self._seen:
            return
        self._seen.add(experiment_id)
        known = self._door.known(experiment_id)
        self._new_ids.update(known.runs)
        self._orphans.update(known.orphans)
        for old, ids in known.begun.items():
            self._begun[old] = list(dict.fromkeys([*self._begun.get(old, ()), *ids]))

    def _one(self, run: MlflowRun, experiment_id: str) -> str:
        tags = {**({USER: run.user} if run.user else {}), **run.tags}
        parent = tags.get(PARENT) or None
        for name in (OLD_ID, BEGUN, ORPHAN, PARENT, "mlflow.runName"):
            tags.pop(name, None)
        start = {} if (at := _moment(run.started_at)) is None else {"start_time": at}
        # the tag comes with the run itself: a moment later, the import may be interrupted
        begun = [{"key": BEGUN, "value": run.id}]
        made = self._door.post("runs/create", experiment_id=experiment_id, run_name=run.name[:200], tags=begun, **start)
        run_id = str(made["run"]["info"]["run_id"])
        for name, values, most in (("tags", tags, MAX_TAG_CHARS), ("params", run.params, MAX_PARAM_CHARS)):
            for some in _batches(self._texts(run, name, values, most), TEXTS_AT_ONCE):
                self._log(run, run_id, name, some)
        for inputs in _batches(self._sendable(run), TEXTS_AT_ONCE):
            self._inputs(run, run_id, inputs)
        for points in _batches(self._source.points(run), POINTS_AT_ONCE):
            self._num_points += self._log(run, run_id, "metrics", [_sent(point) for point in points])
        self._files(run, run_id)
        status = run.status if run.status in ("FINISHED", "FAILED", "KILLED") else "KILLED"
        end = {} if (at := _moment(run.ended_at)) is None else {"end_time": at}
        self._door.post("runs/update", run_id=run_id, status=status, **end)
        self._new_ids[run.id] = run_id
        if parent is not None and parent not in self._new_ids:
            self._waiting[run.id] = parent
        else:
            self._complete(run.id, parent)
        return run_id

    def _files(self, run: MlflowRun, run_id: str) -> None:
        """Upload the files of a run. The server refuses some names, such as those with a backslash."""
        with tempfile.TemporaryDirectory() as folder:
            for name, file in self._source.files(run, Path(folder)):
                try:
                    check_key(storable(name))  # some refused names fit no route of the server, which cannot say why
                    self._door.put(f"runs/{run_id}/{name}", file)
                    self._num_files += 1
                except _OF_UPLOADS as error:
                    self._problems.add(f"{run.id}: the file {name[:200]!r} is left out: {error}")

    def _complete(self, old: str, parent: Optional[str]) -> None:
        """Connect a run with its parent, and note that it is imported completely."""
        if parent in self._new_ids:
            self._link(old, str(parent))
        elif parent is not None:
            self._door.post("runs/set-tag", run_id=self._new_ids[old], key=ORPHAN, value=parent[:MAX_TAG_CHARS])
            self._problems.add(f"{old}: its parent {parent[:80]!r} is not here; an import that finds it connects them")
        self._door.post("runs/set-tag", run_id=self._new_ids[old], key=OLD_ID, value=old)

    def _adopt(self, old: str, parent: str) -> None:
        """Connect a run of an earlier import with its parent."""
        self._link(old, parent)
        self._door.post("runs/delete-tag", run_id=self._new_ids[old], key=ORPHAN)

    def _link(self, old: str, parent: str) -> None:
        self._door.post("runs/set-tag", run_id=self._new_ids[old], key=PARENT, value=self._new_ids[parent])

    def _log(self, run: MlflowRun, run_id: str, kind: str, items: list[dict[str, Any]]) -> int:
        """Log items; return how many were accepted. A rejected key is reported, and the others are logged."""
        wanted = [item for item in items if (run_id, kind, item["key"]) not in self._refused]
        if not wanted:
            return 0
        try:
            self._door.post("runs/log-batch", run_id=run_id, **{kind: wanted})
        except InvalidInput as error:
            keys = dict.fromkeys(item["key"] for item in wanted)
            if len(keys) == 1:
                key = next(iter(keys))
                self._refused.add((run_id, kind, key))
                self._problems.add(f"{run.id}: {kind}: {key[:60]!r} is left out: {error}")
                return 0
            return sum(self._log(run, run_id, kind, [item for item in wanted if item["key"] == key]) for key in keys)
        return len(wanted)

    def _sendable(self, run: MlflowRun) -> Iterator[dict[str, Any]]:
        """Skip data sets that are too large: the server closes the connection during such requests."""
        for one in run.inputs:
            num_bytes = len(json.dumps(one, ensure_ascii=False).encode("utf-8", "replace"))
            if num_bytes <= LARGEST_BYTES:
                yield one
            else:
                self._problems.add(f"{run.id}: a data set has {num_bytes} bytes; {LARGEST_BYTES} are the most")

    def _inputs(self, run: MlflowRun, run_id: str, inputs: list[dict[str, Any]]) -> None:
        try:
            self._door.post("runs/log-inputs", run_id=run_id, datasets=inputs)
        except InvalidInput as error:
            if len(inputs) == 1:
                self._problems.add(f"{run.id}: a data set: {error}")
            for one in inputs if len(inputs) > 1 else ():
                self._inputs(run, run_id, [one])

    def _texts(self, run: MlflowRun, name: str, values: dict[str, str], most: int) -> Iterator[dict[str, str]]:
        for key, value in values.items():
            if len(key) > MAX_KEY_CHARS or len(value) > most:
                self._problems.add(f"{run.id}: {name}: {key[:60]} was cut: at most {most} characters")
            yield {"key": key[:MAX_KEY_CHARS], "value": value[:most]}


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {_storable(key): _storable(inner) for key, inner in value.items()}
    return [_storable(inner) for inner in value] if isinstance(value, list) else value


def _sent(point: Point) -> dict[str, Any]:
    value: Any = point.value
    if not math.isfinite(value):
        value = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    at, step = max(0, min(point.timestamp, LATEST)), max(-MAX_STEP, min(point.step, MAX_STEP))
    return {"key": point.key[:MAX_KEY_CHARS], "value": value, "timestamp": at, "step": step}


def _moment(milliseconds: Optional[int]) -> Optional[int]:
    """Return a valid time or None; foreign files may contain anything."""
    return milliseconds if isinstance(milliseconds, int) and 0 <= milliseconds <= LATEST else None


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Split into batches of at most `size` items that fit into a request; a larger item gets a batch of its own."""
    batch: list[T] = []
    num_bytes = 0
    for item in items:
        more = len(json.dumps(item))
        if batch and (len(batch) == size or num_bytes + more > BYTES_AT_ONCE):
            yield batch
            batch, num_bytes = [], 0
        batch.append(item)
        num_bytes += more
    if batch:
        yield batch
