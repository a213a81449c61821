"""One served world for each file; every test begins with an empty one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.shared import Shared, share_world
from tests.support.world import Api, World


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with share_world(tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def world(shared: Shared) -> World:
    return shared.fresh()


@pytest.fixture
def api(world: World, shared: Shared) -> Iterator[Api]:
    with shared.api() as made:
        yield made
