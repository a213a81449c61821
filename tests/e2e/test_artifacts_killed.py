"""Killed at any moment, an upload is whole or absent, and resumes. `tests/long` does it many times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.artifact_kills import Killed, arrived_bytes, check_artifacts, make_file, send_while_killed

from danlu.client.tracking.artifacts import Draft
from danlu.content.ids import new_artifact_id
from danlu.testing.serving import RunningServer

SIZE = 64 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One of its own: what has arrived is counted, and it is killed."""
    running = RunningServer(tmp_path_factory.mktemp("killed") / "data").start()
    yield running
    running.stop()


def test_the_client_is_killed(server: RunningServer, tmp_path: Path) -> None:
    upload = Killed(server, "killed/client", make_file(tmp_path / "model.pt", SIZE, seed=1))
    num_others, before = check_artifacts(server.data_dir), 0
    for moment in (0.01, 0.4, 1.0):
        assert upload.send(kill_at=moment) is None
        assert not upload.is_there() or moment == 1.0  # after the last byte it may just have been made a version
        assert check_artifacts(server.data_dir) == num_others + upload.is_there()
        arrived = arrived_bytes(server.data_dir)
        assert arrived >= max(before, 1)
        before = arrived
    sent = upload.send(kill_at=None)
    assert sent is not None
    assert sent <= max(0, SIZE - before), "what had arrived is not sent again"
    assert check_artifacts(server.data_dir) == num_others + 1
    assert upload.send(kill_at=None) == 0
    upload.check_whole(tmp_path / "back")


def test_the_server_is_killed(server: RunningServer, tmp_path: Path) -> None:
    path = make_file(tmp_path / "model.pt", SIZE, seed=2)
    num_others = check_artifacts(server.data_dir)
    draft = Draft("killed/server", id=new_artifact_id())
    done, kills = send_while_killed(server, draft, path, [0.3, 1.0])
    assert (kills, done.version.version) == (2, 1)
    assert done.sent_bytes < SIZE // 2, "most had arrived before"
    assert check_artifacts(server.data_dir) == num_others + 1
    with server.client() as client:
        (back,) = client.artifacts.download(done.version, tmp_path / "back")
    assert back.read_bytes() == path.read_bytes()
