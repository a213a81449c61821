"""Downloads of one artifact that meet in one folder, as ranks on a shared disk do."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable, Optional, cast

import pytest

from danlu.content.manifest import Chunk, File
from danlu.content.packs import pack
from danlu.transfer import local_files
from danlu.transfer.api import Api
from danlu.transfer.artifact_download import fetch_files
from danlu.transfer.errors import Damaged
from danlu.transfer.local_files import PARTIAL

CHUNKS = [os.urandom(1 << 20) for _ in range(12)]
BY_DIGEST = {hashlib.sha256(chunk).hexdigest(): chunk for chunk in CHUNKS}
WHOLE = b"".join(CHUNKS)


class Chunks:
    """The server's side: a pack for each request. `before` is called with the request's number, from 1."""

    def __init__(
        self, *, before: Callable[[int], object] = lambda number: None, kept: Mapping[str, bytes] = BY_DIGEST
    ) -> None:
        self._before, self._kept = before, kept
        self.num_requests = 0

    def until(self, _: threading.Event) -> Chunks:
        return self

    def fetch(self, _method: str, _path: str, asked: dict[str, Any]) -> bytes:
        self.num_requests += 1
        self._before(self.num_requests)
        found = [(digest, self._kept[digest]) for digest in asked["digests"]]
        return pack([{"sha256": digest, "size": len(data)} for digest, data in found], [data for _, data in found])


def model(sha256: Optional[str] = None) -> File:
    return File("model.pt", len(WHOLE), sha256, tuple(Chunk(digest, len(data)) for digest, data in BY_DIGEST.items()))


def fetch(chunks: Chunks, file: File, folder: Path) -> list[str]:
    return fetch_files(cast(Api, chunks), "v", [file], str(folder), num_parallel=1)


@pytest.mark.parametrize("sha256", [None, hashlib.sha256(WHOLE).hexdigest()], ids=["format 2", "format 1"])
@pytest.mark.parametrize("has_locks", [True, False], ids=["locks", "no locks"])
def test_one_that_ends_in_the_middle_of_another_does_not_disturb_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sha256: Optional[str], has_locks: bool
) -> None:
    """Some network file systems have no locks: then both write the same unfinished file."""
    if not has_locks:
        monkeypatch.setattr(local_files, "try_lock", lambda _: True)
    slow_has_begun, fast_has_ended = threading.Event(), threading.Event()

    def wait_in_the_middle(number: int) -> None:
        slow_has_begun.set()
        if number == 3:
            fast_has_ended.wait()

    fetched: list[list[str]] = []
    slow_chunks = Chunks(before=wait_in_the_middle)
    slow = threading.Thread(target=lambda: fetched.append(fetch(slow_chunks, model(sha256), tmp_path)))
    slow.start()
    slow_has_begun.wait()
    fetch(Chunks(), model(sha256), tmp_path)
    assert (tmp_path / "model.pt").read_bytes() == WHOLE
    fast_has_ended.set()
    slow.join()
    assert fetched == [[str(tmp_path / "model.pt")]]
    assert (tmp_path / "model.pt").read_bytes() == WHOLE
    assert os.listdir(tmp_path) == ["model.pt"]


def test_a_break_leaves_what_the_next_one_continues(tmp_path: Path) -> None:
    def break_off(number: int) -> None:
        if number == 3:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        fetch(Chunks(before=break_off), model(), tmp_path)
    (left,) = os.listdir(tmp_path)
    assert left.startswith(PARTIAL)
    following = Chunks()
    fetch(following, model(), tmp_path)
    assert following.num_requests < 3
    assert os.listdir(tmp_path) == ["model.pt"]
    assert (tmp_path / "model.pt").read_bytes() == WHOLE


def test_a_chunk_of_another_size_than_listed_is_not_written(tmp_path: Path) -> None:
    data = b"x" * 1000
    digest = hashlib.sha256(data).hexdigest()
    with pytest.raises(Damaged, match="has 1000 bytes, 10 were listed"):
        fetch(Chunks(kept={digest: data}), File("x", 10, digest, (Chunk(digest, 10),)), tmp_path)
    assert os.listdir(tmp_path) == []
