"""The server is killed with -9 while clients log. `tests/long` does it at full size."""

from __future__ import annotations

from pathlib import Path

from tests.support.storm import check_storm, packing_server, storm


def test_every_acknowledged_point_is_there_once_and_in_order(tmp_path: Path) -> None:
    with packing_server(tmp_path, pack_bytes=1 << 17) as server:
        made = storm(server, num_points=100_000, num_kills=5, seed=1)
        assert made.num_kills == 5
        check_storm(server, made)
        packs = list((server.data_dir / "server" / "metrics").rglob("*.pack"))
        assert len(packs) >= 16  # they were built while the server was being killed
