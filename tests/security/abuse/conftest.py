"""Eve and Bob on one server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.abuse import Scene, serving
from tests.support.world import World


@pytest.fixture
def scene(world: World) -> Iterator[Scene]:
    with serving(world) as made:
        yield made
