"""A million points from four clients, and twenty kills."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.storm import check_storm, packing_server, storm


@pytest.mark.long
@pytest.mark.parametrize("pack_bytes", [1 << 17, 4 << 20])
def test_a_million_points_and_twenty_kills(tmp_path: Path, pack_bytes: int) -> None:
    with packing_server(tmp_path, pack_bytes=pack_bytes) as server:
        made = storm(server, num_points=1_000_000, num_kills=20, seed=7, points_at_once=1000)
        assert made.num_kills == 20
        check_storm(server, made)
