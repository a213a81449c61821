"""For all tests of all distributions."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# how long an example takes says more of what else runs on the machine than of the code
settings.register_profile("danlu", deadline=None)
settings.load_profile("danlu")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests press Ctrl-C

LONG_FIRST = (
    *("test_docs.py", "test_ray.py", "test_histories.py", "test_schemathesis.py"),
    *("guides", "e2e", "comm", "web", "faults", "security"),
)
"""Files and folders. What takes long comes first: else one worker is left with it, and the others have nothing."""

CAMPAIGN_HANGS_SECONDS = 6 * 3600.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by how long files take; `make test` hands them out in this order."""
    items.sort(key=_rank)
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.timeout(CAMPAIGN_HANGS_SECONDS))


def _rank(item: pytest.Item) -> int:
    return next((rank for rank, name in enumerate(LONG_FIRST) if name in item.path.parts), len(LONG_FIRST))
