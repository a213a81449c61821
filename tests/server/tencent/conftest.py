"""A server whose door for Tencent Cloud's SDK is open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from tests.support.world import Api, World, make_world


class Opened(NamedTuple):
    world: World
    url: str

    def signing_key(self, **options: Any) -> str:
        with Api(self.url, self.world.api_key(**options)) as api:
            return str(api.json("POST", "/keys", json={"signs": True})["api_key"])


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with make_world(tmp_path_factory.mktemp("door") / "data") as world:
        world.settings = world.settings.model_copy(update={"tencent_door": True})
        world.state = replace(world.state, settings=world.settings)
        with world.serving() as url:
            yield Opened(world, url)
