"""An MLflow server, asked over HTTP, with the credentials that MLflow's own client takes from the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import httpx

from danlu.client.tracking.mlflow.records import MlflowRun, Point, Source
from danlu.errors import InvalidInput, ServerUnreachable

SECONDS = 60.0
_API = "/api/2.0/mlflow"
_FILES = "/api/2.0/mlflow-artifacts/artifacts"


class ServerSource(Source):
    def __init__(self, url: str) -> None:
        token = os.environ.get("MLFLOW_TRACKING_TOKEN")
        user = os.environ.get("MLFLOW_TRACKING_USERNAME")
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"} if token else {},
            auth=(user, os.environ.get("MLFLOW_TRACKING_PASSWORD", "")) if user and not token else None,
            timeout=SECONDS,
        )
        self._keys: dict[str, list[str]] = {}
        self._uris: dict[str, str] = {}
        self._problems: list[str] = []

    def runs(self, experiment: Optional[str]) -> Iterator[MlflowRun]:
        for found in self._pages("POST", "/experiments/search", "experiments", {"max_results": 1000}):
            if experiment not in (None, found["name"]):
                continue
            wanted = {"experiment_ids": [found["experiment_id"]], "max_results": 1000}
            for run in self._pages("POST", "/runs/search", "runs", wanted):
                info, data = run["info"], run.get("data", {})
                self._keys[info["run_id"]] = [metric["key"] for metric in data.get("metrics", [])]
                self._uris[info["run_id"]] = info.get("artifact_uri", "")
                yield MlflowRun(
                    id=info["run_id"],
                    experiment=found["name"],
                    name=info.get("run_name", ""),
                    status=info.get("status", "FINISHED"),
                    started_at=_number(info.get("start_time")),
                    ended_at=_number(info.get("end_time")),
                    params={one["key"]: one.get("value", "") for one in data.get("params", [])},
                    tags={one["key"]: one.get("value", "") for one in data.get("tags", [])},
                )

    def points(self, run: MlflowRun) -> Iterator[Point]:
        for key in self._keys[run.id]:
            query = {"run_id": run.id, "metric_key": key, "max_results": 25_000}
            for point in self._pages("GET", "/metrics/get-history", "metrics", query):
                yield Point(key, float(point["value"]), int(point.get("timestamp", 0)), int(point.get("step", 0)))

    def files(self, run: MlflowRun, into: Path, /) -> Iterator[tuple[str, Path]]:
        uri = self._uris[run.id]
        if not uri.startswith("mlflow-artifacts:/"):
            self._problems.append(f"{run.id}: its files are at {uri}, which the server does not hand out")
            return
        yield from self._below(run, uri.partition(":/")[2].strip("/"), "", into)

    def close(self) -> None:
        self._http.close()

    def problems(self) -> list[str]:
        return self._problems

    def _below(self, run: MlflowRun, root: str, folder: str, into: Path) -> Iterator[tuple[str, Path]]:
        query = {"run_id": run.id, **({"path": folder} if folder else {})}
        for one in self._pages("GET", "/artifacts/list", "files", query):
            name = str(one["path"])
            if ".." in name.split("/") or name.startswith("/"):
                self._problems.append(f"{run.id}: {name!r} is no name of a file")
            elif one.get("is_dir"):
                yield from self._below(run, root, name, into)
            else:
                yield name, self._fetch(f"{_FILES}/{root}/{name}", into / "file")

    def _fetch(self, path: str, to: Path) -> Path:
        with self._http.stream("GET", path) as response, to.open("wb") as file:
            _check(response)
            for piece in response.iter_bytes(1 << 20):
                file.write(piece)
        return to

    def _pages(self, method: str, path: str, name: str, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
        token = ""
        while True:
            asked = {**values, **({"page_token": token} if token else {})}
            try:
                response = self._http.request(
                    method,
                    f"{_API}{path}",
                    json=asked if method == "POST" else None,
                    params=asked if method == "GET" else None,
                )
            except httpx.TransportError as error:
                raise ServerUnreachable(f"{self._http.base_url} does not answer: {error}") from error
            _check(response)
            found = response.json()
            yield from found.get(name, [])
            token = found.get("next_page_token", "")
            if not token:
                return


def _check(response: httpx.Response) -> None:
    if response.is_error:
        response.read()
        raise InvalidInput(f"{response.request.url} answered {response.status_code}: {response.text[:300]}")


def _number(value: Any) -> Optional[int]:
    return None if value is None else int(value)
