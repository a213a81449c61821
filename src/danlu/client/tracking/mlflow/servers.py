"""Read runs of an MLflow server over HTTP, with the credentials that MLflow's own client takes from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional
from urllib.parse import quote

import httpx

from danlu.client.tracking.mlflow.records import MlflowRun, Point, Source
from danlu.errors import InvalidInput, ServerUnreachable
from danlu.importing.files import MAX_FILES, MAX_TREE_BYTES, load_json
from danlu.importing.records import UNREADABLE, Problems

SECONDS = 60.0
MAX_ANSWER_BYTES = 256 << 20
MAX_PAGES = 100_000
MAX_DEPTH = 64
_API = "/api/2.0/mlflow"
_FILES = "/api/2.0/mlflow-artifacts/artifacts"


class ServerSource(Source):
    def __init__(self, url: str) -> None:
        token = os.environ.get("MLFLOW_TRACKING_TOKEN")
        user = os.environ.get("MLFLOW_TRACKING_USERNAME")
        try:
            self._http = httpx.Client(
                base_url=url.rstrip("/"),
                headers={"Authorization": f"Bearer {token}"} if token else {},
                auth=(user, os.environ.get("MLFLOW_TRACKING_PASSWORD", "")) if user and not token else None,
                timeout=SECONDS,
            )
        except httpx.InvalidURL as error:
            raise InvalidInput(f"expected the address of a server, got {url[:200]!r}: {error}") from error
        self._keys: dict[str, list[str]] = {}
        self._uris: dict[str, str] = {}
        self._problems = Problems()

    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        num_experiments = 0
        try:
            for found in self._pages("POST", "/experiments/search", "experiments", {"max_results": 1000}):
                num_experiments += 1
                if experiment in (None, found.get("name")):
                    yield from self._runs_of(found)
        except (InvalidInput, ConnectionError) as error:
            if not num_experiments and isinstance(error, InvalidInput):
                raise
            if not num_experiments:
                raise ServerUnreachable(str(error)) from error
            self._problems.add(f"the experiments after the first {num_experiments} cannot be read: {error}")

    def _runs_of(self, experiment: dict[str, Any]) -> Iterator[MlflowRun]:
        wanted = {"experiment_ids": [experiment.get("experiment_id")], "max_results": 1000}
        try:
            for run in self._pages("POST", "/runs/search", "runs", wanted):
                try:
                    made = self._run(experiment, run)
                except UNREADABLE as error:
                    self._problems.add(f"the server describes a run as none is: {error!r}")
                    continue
                yield made
        except (InvalidInput, ConnectionError) as error:
            name = str(experiment.get("name"))[:200]
            self._problems.add(f"the runs of the experiment {name!r} cannot be read to their end: {error}")

    def _run(self, experiment: dict[str, Any], run: dict[str, Any]) -> MlflowRun:
        info, data = run["info"], run.get("data") or {}
        run_id = str(info["run_id"])
        self._keys[run_id] = [str(metric["key"]) for metric in data.get("metrics", [])]
        self._uris[run_id] = str(info.get("artifact_uri", ""))
        return MlflowRun(
            id=run_id,
            experiment=str(experiment["name"]),
            name=str(info.get("run_name", "")),
            status=str(info.get("status", "FINISHED")),
            started_at=_number(info.get("start_time")),
            ended_at=_number(info.get("end_time")),
            params=_texts(data.get("params")),
            tags=_texts(data.get("tags")),
            user=str(info.get("user_id") or ""),
            inputs=tuple((run.get("inputs") or {}).get("dataset_inputs") or ()),
            experiment_tags=_texts(experiment.get("tags")),
        )

    def points(self, run: MlflowRun) -> Iterator[Point]:
        for key in self._keys[run.id]:
            try:
                yield from self._points_of(run, key)
            except InvalidInput as error:
                self._problems.add(f"{run.id}: metric {key[:60]!r} cannot be read to its end: {error}")

    def _points_of(self, run: MlflowRun, key: str) -> Iterator[Point]:
        query = {"run_id": run.id, "metric_key": key, "max_results": 25_000}
        for point in self._pages("GET", "/metrics/get-history", "metrics", query):
            try:
                yield Point(key, float(point["value"]), int(point.get("timestamp", 0)), int(point.get("step", 0)))
            except (KeyError, TypeError, ValueError, OverflowError):
                self._problems.add(f"{run.id}: a point of metric {key[:60]!r} is none: {str(point)[:80]}")

    def files(self, run: MlflowRun, into: Path, /) -> Iterator[tuple[str, Path]]:
        uri = self._uris[run.id]
        if not uri.startswith("mlflow-artifacts:/"):
            self._problems.add(f"{run.id}: its files are at {uri}, which the server does not hand out")
            return
        num_bytes, file = 0, into / "file"
        for number, name in enumerate(self._below(run, "", 0)):
            if number >= MAX_FILES or num_bytes > MAX_TREE_BYTES:
                self._problems.add(f"{run.id}: files from {name[:200]!r} on are left out: there are too many")
                return
            place = "/".join((uri.partition(":/")[2].strip("/"), name))
            file.write_bytes(b"")
            try:
                self._fetch(f"{_FILES}/{quote(place)}", file, MAX_TREE_BYTES - num_bytes)
            except InvalidInput as error:
                self._problems.add(f"{run.id}: the file {name[:200]!r} is left out: {error}")
            else:
                yield name, file
            num_bytes += file.stat().st_size  # of a file that broke off as well: what is read has an end

    def close(self) -> None:
        self._http.close()

    def problems(self) -> list[str]:
        return self._problems.all()

    def _below(self, run: MlflowRun, folder: str, depth: int) -> Iterator[str]:
        """Yield the files of a run. Listed paths must be below the listed folder, or this might never end."""
        query = {"run_id": run.id, **({"path": folder} if folder else {})}
        before = f"{folder}/" if folder else ""
        for one in self._listed(run, folder, query):
            name = str(one.get("path"))
            parts = name.split("/")
            if not name.startswith(before) or name == before or not {"", ".", ".."}.isdisjoint(parts):
                self._problems.add(f"{run.id}: {name[:200]!r} is no name of a file in {folder or '/'!r}")
            elif not one.get("is_dir"):
                yield name
            elif depth < MAX_DEPTH:
                yield from self._below(run, name, depth + 1)
            else:
                self._problems.add(f"{run.id}: {name[:200]!r}: more than {MAX_DEPTH} folders lie in each other")

    def _listed(self, run: MlflowRun, folder: str, query: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            yield from self._pages("GET", "/artifacts/list", "files", query)
        except InvalidInput as error:
            self._problems.add(f"{run.id}: its files in {folder[:200] or '/'!r} cannot be listed to their end: {error}")

    def _fetch(self, path: str, to: Path, most: int) -> None:
        num_bytes = 0
        with self._answering(path), self._http.stream("GET", path) as response, to.open("wb") as file:
            _check(response)
            for piece in response.iter_bytes(1 << 20):
                num_bytes += len(piece)
                if num_bytes > most:
                    raise InvalidInput(f"{path[:200]}: the file has more than {most} bytes")
                file.write(piece)

    def _pages(self, method: str, path: str, name: str, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
        token, seen = "", {""}
        while True:
            asked = {**values, **({"page_token": token} if token else {})}
            found = self._ask(method, f"{_API}{path}", asked)
            listed = found.get(name)
            yield from (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()
            token = str(found.get("next_page_token") or "")
            if token in seen or len(seen) > MAX_PAGES:
                return  # the last page, or a server that repeats pages
            seen.add(token)

    def _ask(self, method: str, path: str, values: dict[str, Any]) -> dict[str, Any]:
        options: dict[str, Any] = {"json": values} if method == "POST" else {"params": values}
        data = bytearray()
        with self._answering(path), self._http.stream(method, path, **options) as response:
            _check(response)
            for piece in response.iter_bytes(1 << 20):
                data += piece
                if len(data) > MAX_ANSWER_BYTES:
                    raise InvalidInput(f"{path} answers with more than {MAX_ANSWER_BYTES} bytes")
        try:
            found = load_json(bytes(data))
        except ValueError as error:
            raise InvalidInput(f"{path} answers with what is no JSON: {error}") from error
        return found if isinstance(found, dict) else {}

    @contextmanager
    def _answering(self, path: str) -> Iterator[None]:
        """Raise ServerUnreachable when the server does not answer, which ends the import; ConnectionError when one
        answer breaks off, so that its run is imported the next time; InvalidInput for an answer that cannot be read."""
        try:
            yield
        except (httpx.ConnectError, httpx.TimeoutException) as error:
            raise ServerUnreachable(f"{self._http.base_url} does not answer: {error}") from error
        except httpx.TransportError as error:
            raise ConnectionError(f"{self._http.base_url}: the answer to {path[:200]} broke off: {error}") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InvalidInput(f"{path[:200]}: {error}") from error


def _check(response: httpx.Response) -> None:
    if response.is_error:
        said = next(response.iter_bytes(1000), b"")[:300].decode("utf-8", "replace")
        raise InvalidInput(f"{response.request.url} answered {response.status_code}: {said}")


def _number(value: Any) -> Optional[int]:
    return None if value is None else int(value)


def _texts(pairs: Any) -> dict[str, str]:
    return {str(one["key"]): str(one.get("value") or "") for one in pairs or ()}
