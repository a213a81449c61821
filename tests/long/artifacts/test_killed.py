"""Uploads whose client and server are killed at fifty moments each, with clean-up going on."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.artifact_kills import Killed, arrived_bytes, check_artifacts, make_file, send_while_killed

from danlu.client.tracking.artifacts import Draft
from danlu.content.ids import new_artifact_id
from danlu.testing.serving import RunningServer

pytestmark = pytest.mark.long
SIZE = 48 << 20


def test_the_client_is_killed_fifty_times(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    server, chance = make_server(), random.Random(1)
    num_kills = 0
    for number in range(10):
        upload = Killed(server, f"killed/{number}", make_file(tmp_path / "model.pt", SIZE, seed=number))
        base = before = arrived_bytes(server.data_dir)
        for moment in sorted(chance.random() * 1.02 for _ in range(5)):
            upload.send(kill_at=moment, num_parallel=chance.choice([1, 2, 4]))
            num_kills += 1
            assert check_artifacts(server.data_dir) == number + upload.is_there()
            arrived = arrived_bytes(server.data_dir)
            assert arrived >= before
            before = arrived
        sent = upload.send(kill_at=None)
        assert sent is not None
        assert sent <= max(0, SIZE - (before - base))
        upload.check_whole(tmp_path / "back")
        assert check_artifacts(server.data_dir) == number + 1
    assert num_kills == 50


def test_the_server_is_killed_fifty_times(make_server: Callable[..., RunningServer], tmp_path: Path) -> None:
    server, chance = make_server(), random.Random(2)
    num_kills = 0
    number = 0
    while num_kills < 50:
        number += 1
        path = make_file(tmp_path / "model.pt", SIZE, seed=100 + number)
        moments = [chance.random() for _ in range(4)] + [1.0]
        done, kills = send_while_killed(server, Draft("killed", id=new_artifact_id()), path, moments)
        num_kills += kills
        assert done.version.version == number, "no number is given twice or left out"
        assert check_artifacts(server.data_dir) == number
        with server.client() as client:
            (back,) = client.artifacts.download(done.version, tmp_path / "back")
        assert back.read_bytes() == path.read_bytes()
        back.unlink()
