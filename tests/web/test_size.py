"""How much a browser fetches for the first page."""

from __future__ import annotations

from tests.support.browser import Tab

MOST_BYTES = 300_000
SIZES = """() => performance.getEntriesByType('resource').map(one => [one.name, one.encodedBodySize])"""


def test_the_first_page_is_small(admin: Tab) -> None:
    page = admin.go("/")
    page.locator("main h1").wait_for()
    page.wait_for_load_state("load")
    sizes = {name.rpartition("/")[2]: size for name, size in page.evaluate(SIZES) if "/assets/" in name}
    assert 50_000 < sum(sizes.values()) < MOST_BYTES, sizes
    later = [name for name in sizes if name.startswith(("FlowGraph", "sha2", "hash.worker", "MetricChart-"))]
    assert later == []
