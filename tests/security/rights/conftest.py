"""Each attack is made by somebody with a key of their own, over HTTP, against a server that others use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.attack import Sides, two_sides
from tests.support.databases import Databases
from tests.support.shared import Shared, share_world
from tests.support.world import make_world


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """One SQLite world for the tests of a module, put back before each of them."""
    with share_world(tmp_path_factory.mktemp("rights") / "data") as made:
        yield made


@pytest.fixture
def sides(request: pytest.FixtureRequest, database_kind: str, tmp_path: Path) -> Iterator[Sides]:
    if database_kind == "sqlite":
        shared: Shared = request.getfixturevalue("shared")
        with two_sides(shared.fresh(), shared.url) as made:
            yield made
        return
    chosen = Databases(database_kind, tmp_path, request.getfixturevalue("postgres"))
    with (
        make_world(tmp_path / "data", database_url=chosen.url()) as world,
        world.serving() as url,
        two_sides(world, url) as made,
    ):
        yield made
    chosen.drop()
