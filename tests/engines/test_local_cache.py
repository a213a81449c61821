"""Inputs that a node fetched for a person before."""

from __future__ import annotations

from pathlib import Path

import pytest

from danlu.engines.local import LocalEngine
from danlu.spec.states import TaskState
from danlu.testing.engines import Starter
from danlu.testing.store_server import StoreServer

BIG = bytes(range(256)) * 4096


@pytest.fixture(autouse=True)
def _keeps_inputs(starter: Starter, engine: LocalEngine, store: StoreServer) -> None:
    starter.engine = LocalEngine(engine.settings.model_copy(update={"input_cache_bytes": 1 << 30}))
    store.objects.update({"data/set/big": BIG})
    store.tells_digests = True


def fetches(starter: Starter, store: StoreServer, owner_id: int) -> list[str]:
    """Run a job of somebody; return the requests that moved its input."""
    starter.owner_id = owner_id
    store.requests.clear()
    job = starter.start("cksum $DANLU_DATA_DIR/x/big | cut -d' ' -f2", data={"store://data/set/": "x"})
    assert job.wait()[0].state is TaskState.SUCCEEDED, job.log()
    assert job.log() == f"{len(BIG)}\n"
    return [one for one in store.requests if one.startswith("GET") and "/big" in one]


def test_only_the_same_person_gets_them(starter: Starter, store: StoreServer) -> None:
    assert len(fetches(starter, store, owner_id=7)) == 1
    assert fetches(starter, store, owner_id=7) == []
    assert len(fetches(starter, store, owner_id=8)) == 1, "a digest is not a right"


@pytest.mark.parametrize("kind", ["sandbox"], indirect=True)
def test_a_job_cannot_see_them(starter: Starter, engine: LocalEngine, store: StoreServer) -> None:
    fetches(starter, store, owner_id=7)
    (kept,) = Path(engine.nodes()[0].work_dir, ".inputs", "7").iterdir()
    job = starter.start(f"cat {kept}; ls -A {kept.parent}; echo > {kept}")
    job.wait()
    assert kept.read_bytes() == BIG
    assert len(job.log()) < 1000


def test_nothing_is_kept_unless_asked_for(starter: Starter, engine: LocalEngine, store: StoreServer) -> None:
    starter.engine = engine
    assert len(fetches(starter, store, owner_id=7)) == 1
    assert len(fetches(starter, store, owner_id=7)) == 1
