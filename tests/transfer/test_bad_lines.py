"""All that moves bytes, over lines that end connections wherever they like: what arrives is what was sent."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.bad_line import BadLine

from danlu import journal
from danlu.client.files.code import build_tree
from danlu.content.ids import new_artifact_id
from danlu.testing.serving import RunningServer
from danlu.transfer.api import Api
from danlu.transfer.artifact_download import fetch_files, fetch_manifest
from danlu.transfer.artifact_upload import ArtifactUpload, Source, send_artifact
from danlu.transfer.file_download import RemoteFile
from danlu.transfer.journals import announce, send_journal
from danlu.transfer.object_download import Incoming, fetch_objects
from danlu.transfer.object_upload import RESUMABLE_BYTES, OneProblem, Outgoing, send_objects
from danlu.transfer.retrying import Retry
from danlu.transfer.trees import fetch_tree, send_tree

if TYPE_CHECKING:
    from tests.transfer.conftest import MakeCarrier

PATIENCE_SECONDS = 120.0
SIZES = {"empty": 0, "small": 100, "other": 5000, "middle": 600_000, "large": RESUMABLE_BYTES + 12345}


def write_files(folder: Path, sizes: dict[str, int], seed: str) -> dict[str, bytes]:
    """Bytes of their own for each test: the server must not have them already."""
    chance = random.Random(f"{seed} {folder}")
    folder.mkdir()
    content = {name: chance.randbytes(size) for name, size in sizes.items()}
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return content


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Listener:
    """Adds up what it is told, and pauses at the first bytes if it is told to."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self._pause = pause
        self._has_paused = False
        self.num_bytes = 0

    def told(self, _file: str, num_bytes: int, _has_travelled: bool) -> None:
        self.num_bytes += num_bytes
        if not self._has_paused:
            self._has_paused = True
            self._pause()


def move_objects(api: Api, folder: Path, listener: Callable[[], Listener]) -> None:
    content = write_files(folder / "up", SIZES, "objects")
    prefix = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    files = [Outgoing(str(folder / "up" / name), "main", f"{prefix}/{name}", size) for name, size in SIZES.items()]
    fates: list[OneProblem | None] = []
    up = listener()
    send_objects(api, files, done=lambda _, problem: fates.append(problem), told=up.told)
    assert fates == [None] * len(SIZES)
    down = listener()
    wanted = [Incoming("main", one.key, str(folder / "down" / name), one.size) for name, one in zip(SIZES, files)]
    fetch_objects(api, wanted, told=down.told)
    assert read_files(folder / "down") == content
    assert up.num_bytes == down.num_bytes == sum(SIZES.values())


def move_tree(api: Api, folder: Path, listener: Callable[[], Listener]) -> None:
    sizes = {**SIZES, **{f"file{number}": 10 + number for number in range(300)}}
    content = write_files(folder / "up", sizes, "tree")
    local = build_tree(folder / "up")
    api.get("/me")
    listener().told("", 0, False)
    digest = send_tree(
        api, local.tree.model_dump(mode="json"), {sha256: str(path) for sha256, path in local.files.items()}
    )
    assert digest == local.tree.digest
    listener().told("", 0, False)
    files = [
        RemoteFile(f"/blobs/{file.sha256}", str(folder / "down" / file.path), file.size, file.sha256)
        for file in local.tree.files
    ]
    fetch_tree(api, digest, files)
    assert read_files(folder / "down") == content


def move_journal(api: Api, folder: Path, listener: Callable[[], Listener]) -> None:
    run, journal_id = journal.new_run_id(), journal.new_journal_id()
    header = {"run": run, "name": "x", "created_at": 1.7e9, "branch": 1, "writer": "process"}
    row = journal.row_struct(1).pack
    frames = [
        journal.encode_points(1, [row(step, 1.7e9, 0.0, step) for step in range(first, first + 5000)])
        for first in range(0, 200_000, 5000)
    ]
    layout = journal.encode_layout(journal.Layout(1, "train", ("loss",)))
    data = b"".join([journal.file_header(journal_id), journal.encode_run(header), layout, *frames])
    (folder / "x.journal").write_bytes(data)
    announce(api, header)
    listener().told("", 0, False)
    send_journal(api, run, str(folder / "x.journal"))
    assert api.get(f"/runs/{run}/journals/{journal_id}")["offset"] == len(data)


def move_artifact(api: Api, folder: Path, listener: Callable[[], Listener]) -> None:
    content = write_files(folder / "up", SIZES, "artifact")
    name = f"lines/{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    begin = {"artifact": new_artifact_id(), "name": name}
    up, down = listener(), listener()
    sources = [Source(one, str(folder / "up" / one)) for one in content]
    sent = send_artifact(api, ArtifactUpload(begin, {}, sources), told=up.told)
    assert sent.version is not None
    version: dict[str, Any] = sent.version
    manifest = fetch_manifest(api, version["id"], version["manifest"])
    fetch_files(api, version["id"], manifest.files, str(folder / "down"), told=down.told)
    assert read_files(folder / "down") == content
    assert up.num_bytes == down.num_bytes == sent.size


Move = Callable[[Api, Path, Callable[[], Listener]], None]
MOVES = [move_objects, move_tree, move_journal, move_artifact]


@pytest.fixture
def line(server: RunningServer) -> Iterator[BadLine]:
    made = BadLine(server.url)
    yield made
    made.go()


@pytest.fixture
def api(line: BadLine, server: RunningServer, make_carrier: MakeCarrier) -> Api:
    return Api(make_carrier(line.url, server.api_key), Retry(PATIENCE_SECONDS))


def no_pause() -> Listener:
    return Listener(lambda: None)


@pytest.mark.parametrize("move", MOVES)
class TestLines:
    def test_that_end_a_connection_as_soon_as_it_is_idle(
        self, move: Move, line: BadLine, api: Api, tmp_path: Path
    ) -> None:
        """As servers do after some seconds of quiet; here each sender is quiet for longer in the middle of its work."""
        line.idle_seconds = 0.02

        def pause() -> None:
            assert line.closed.acquire()

        move(api, tmp_path, lambda: Listener(pause))

    def test_that_cut_off_what_is_sent(self, move: Move, line: BadLine, api: Api, tmp_path: Path) -> None:
        line.cut("request", 0.5, 2 << 20)
        move(api, tmp_path, no_pause)

    def test_that_cut_off_what_is_answered(self, move: Move, line: BadLine, api: Api, tmp_path: Path) -> None:
        line.cut("answer", 0.5, 2 << 20)
        move(api, tmp_path, no_pause)

    def test_that_cut_off_the_heads(self, move: Move, line: BadLine, api: Api, tmp_path: Path) -> None:
        """Also before the first byte, so that nobody can tell what became of the request."""
        line.cut("answer", 0.5, 200)
        line.cut("request", 0.2, 400)
        move(api, tmp_path, no_pause)

    def test_to_a_server_that_is_away_for_a_while(self, move: Move, line: BadLine, api: Api, tmp_path: Path) -> None:
        def pause() -> None:
            line.go()
            threading.Timer(0.5, line.come).start()

        is_first = iter([True])
        move(api, tmp_path, lambda: Listener(pause) if next(is_first, False) else no_pause())
