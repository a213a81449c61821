from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.testing.engines import Starter
from danlu.testing.store_server import StoreServer, running_store
from danlu.testing.waiting import HANG_SECONDS

NEEDS = ("sandbox", "plain")


def make_settings(folder: Path, kind: str) -> EngineSettings:
    return EngineSettings(
        work_dir=folder / "work",
        hide=(folder / "secret",),
        server_id="test",
        sandbox=kind == "sandbox",
        stage_in_patience_seconds=100 * HANG_SECONDS,
        stage_out_patience_seconds=100 * HANG_SECONDS,
    )


@pytest.fixture(params=NEEDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def settings(tmp_path: Path, kind: str) -> EngineSettings:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "danlu.db").write_text("the database")
    return make_settings(tmp_path, kind)


@pytest.fixture
def engine(settings: EngineSettings, kind: str) -> LocalEngine:
    engine = LocalEngine(settings)
    if kind == "sandbox" and not engine.nodes()[0].has_sandbox:
        pytest.skip(f"no sandbox here: {engine.nodes()[0].missing}")
    return engine


@pytest.fixture
def store() -> Iterator[StoreServer]:
    with running_store() as store:
        yield store


@pytest.fixture
def starter(engine: LocalEngine, store: StoreServer) -> Iterator[Starter]:
    starter = Starter(engine, server_url=store.url, token=store.token)
    yield starter
    starter.clean_up()
