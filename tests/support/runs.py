"""Runs as clients send and read them."""

from __future__ import annotations

from typing import Any

from tests.support.journals import JournalMaker
from tests.support.world import Api, World

from danlu.store.metrics.journals import MAX_PIECE_BYTES


def send(world: World, api: Api, made: JournalMaker, **header: Any) -> dict[str, Any]:
    """Sync a journal as clients do, and have it counted."""
    api.json("POST", "/runs", json={**made.header, **header})
    path = f"/runs/{made.run}/journals/{made.name}"
    offset = api.json("GET", path)["offset"]
    while offset < len(made.data):
        piece = made.data[offset : offset + MAX_PIECE_BYTES]
        before, offset = offset, api.json("PUT", path, params={"offset": offset}, content=piece)["offset"]
        assert offset > before
    world.state.metrics.ingest_changed()
    run: dict[str, Any] = api.json("GET", f"/runs/{made.run}")
    return run


def points(api: Api, run: str, series: str, **options: Any) -> dict[str, Any]:
    found = api.json("GET", "/runs/points", params={"run": run, "series": series, **options})["items"]
    assert len(found) == 1
    one: dict[str, Any] = found[0]
    return one
