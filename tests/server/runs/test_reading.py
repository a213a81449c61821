"""What the readers of points hold while they read files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.journals import JournalMaker
from tests.support.runs import points, send
from tests.support.world import Api, World, make_world

from danlu.spec.paths import StorePath
from danlu.store.metrics.journal_files import JournalFiles
from danlu.store.metrics.store import Metrics
from danlu.store.objects.base import OpenObject
from danlu.store.objects.local import LocalObjects


class Noted:
    """How many sessions were open at each read of a file."""

    def __init__(self, world: World) -> None:
        self._pool = world.database.engine.pool
        self.packs: list[int] = []
        self.journals: list[int] = []

    def num_open(self) -> int:
        return int(self._pool.status().partition("Current Checked out connections: ")[2])


class NotedObjects(LocalObjects):
    def __init__(self, root: Path, noted: Noted) -> None:
        super().__init__(root)
        self._noted = noted

    def open(self, path: StorePath, *, is_range: bool = False) -> OpenObject:
        self._noted.packs.append(self._noted.num_open())
        return super().open(path, is_range=is_range)


class NotedJournals(JournalFiles):
    def __init__(self, root: Path, noted: Noted) -> None:
        super().__init__(root)
        self._noted = noted

    def read(self, run_id: str, journal: str, start: int, end: int) -> bytes:
        self._noted.journals.append(self._noted.num_open())
        return super().read(run_id, journal, start, end)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_world(tmp_path / "data") as made:
        yield made


@pytest.fixture
def noted(world: World) -> Noted:
    """Notes reads of a run whose points are in packs and at the end of its journal."""
    made, folder = Noted(world), world.settings.server_dir
    files, objects = NotedJournals(folder / "runs", made), NotedObjects(folder, made)
    world.state = replace(world.state, metrics=Metrics(world.database, files, objects, pack_bytes=4096))
    return made


def drawn(api: Api, run: str) -> None:
    for axis in ("step", "own"):
        assert points(api, run, "train/loss", axis=axis)["num_points"] == 3000


def exported(api: Api, run: str) -> None:
    assert api("GET", f"/runs/{run}/export").text.count("\n") == 2 * 3000 + 1


def asked_by_mlflow(api: Api, run: str) -> None:
    address = api.http.base_url.join("/compat/mlflow/api/2.0/mlflow/metrics/get-history")
    found = api.http.get(address, params={"run_id": run, "metric_key": "train/loss"})
    assert len(found.json()["metrics"]) == 3000


@pytest.mark.parametrize("read", [drawn, exported, asked_by_mlflow])
def test_no_session_is_open_while_files_are_read(world: World, noted: Noted, read: Callable[[Api, str], None]) -> None:
    """A file in another service may take seconds: 40 such readers left no connection to the database for the rest."""
    made = JournalMaker()
    for first in range(0, 3000, 100):
        steps = range(first, first + 100)
        made.log("train", {"loss": [float(step) for step in steps], "seen": [8.0 * step for step in steps]}, steps)
    with world.serving() as url, Api(url, world.api_key()) as api:
        send(world, api, made)
        noted.packs.clear()
        noted.journals.clear()
        read(api, made.run)
    assert noted.packs
    assert noted.journals
    assert set(noted.packs + noted.journals) == {0}
