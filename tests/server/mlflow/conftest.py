"""A server with two projects, and clients that send what MLflow's own client sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.support.world import World, make_world


class Door:
    """The door of a project as one person uses it."""

    def __init__(self, url: str, key: str, project: str | None = None) -> None:
        base = f"{url}/compat/mlflow" if project is None else f"{url}/compat/mlflow/projects/{project}"
        self.http = httpx.Client(base_url=f"{base}/api/2.0", headers={"Authorization": f"Bearer {key}"}, timeout=None)

    def post(self, path: str, /, **body: Any) -> Any:
        return told(self.http.post(f"/mlflow/{path}", json=body))

    def get(self, path: str, /, **query: Any) -> Any:
        return told(self.http.get(f"/mlflow/{path}", params=query))

    def refused(self, method: str, path: str, **options: Any) -> tuple[int, str]:
        """Status and code of a failure."""
        response = self.http.request(method, f"/mlflow/{path}", **options)
        assert response.status_code >= 400, response.text
        return response.status_code, response.json()["error_code"]

    def new_run(self, experiment_id: str = "0", **more: Any) -> str:
        return str(self.post("runs/create", experiment_id=experiment_id, **more)["run"]["info"]["run_id"])

    def names(self, filter: str = "", **more: Any) -> list[str]:
        """Names of the runs that a search finds."""
        found = self.post("runs/search", filter=filter, **{"experiment_ids": ["0"], **more})
        return [run["info"]["run_name"] for run in found["runs"]]


def told(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with make_world(tmp_path_factory.mktemp("mlflow") / "data") as made:
        yield made


@pytest.fixture(scope="module")
def url(world: World) -> Iterator[str]:
    with world.serving() as served:
        yield served


@pytest.fixture(scope="module")
def door(world: World, url: str) -> Iterator[Door]:
    made = Door(url, world.api_key())
    yield made
    made.http.close()
