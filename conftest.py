"""For all tests of all distributions."""

from __future__ import annotations

import pytest
from hypothesis import settings

# how long an example takes says more of what else runs on the machine than of the code
settings.register_profile("danlu", deadline=None)
settings.load_profile("danlu")

SLOW_FOLDERS = {"web", "e2e", "faults", "comm"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first: else one worker is left with the last of them, and the other has nothing."""
    items.sort(key=lambda item: not SLOW_FOLDERS & set(item.path.parts))
