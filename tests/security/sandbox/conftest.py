"""Attacks on the sandbox, performed for real: as root with bubblewrap, and as another user where that matters."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.local import LocalEngine
from danlu.engines.settings import EngineSettings
from danlu.launch import Owner
from danlu.testing.engines import Starter
from danlu.testing.store_server import StoreServer, running_store


@pytest.fixture
def settings(tmp_path: Path) -> EngineSettings:
    return EngineSettings(
        work_dir=tmp_path / "work",
        server_id="attacked",
        homes_dir=tmp_path / "homes",
        shared_dir=tmp_path / "shared",
        stage_in_patience_seconds=20,
        stage_out_patience_seconds=20,
    )


@pytest.fixture
def engine(settings: EngineSettings) -> LocalEngine:
    """Of a server that is root: what a job does with rights, it does to the machine."""
    if os.geteuid() != 0:
        pytest.skip("needs to be root: these attacks are about what root does for a job")
    engine = LocalEngine(settings)
    if not engine.nodes()[0].has_sandbox:
        pytest.skip("; ".join(engine.nodes()[0].missing))
    return engine


@pytest.fixture
def store() -> Iterator[StoreServer]:
    with running_store() as store:
        yield store


@pytest.fixture
def starter(engine: LocalEngine, store: StoreServer) -> Iterator[Starter]:
    owner = Owner(user="mallory", project="red")
    starter = Starter(engine, server_url=store.url, token=store.token, owner_id=66, owner=owner)
    yield starter
    starter.clean_up()
