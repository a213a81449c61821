"""The tasks of one node fetch a file once, and none of them can change what another one has."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from danlu.transfer.errors import Disconnected
from danlu.transfer.file_download import RemoteFile
from danlu.transfer.local_files import write_whole
from danlu.transfer.node_cache import LEFT_BEHIND_SECONDS, NodeCache
from danlu.transfer.progress import Told, quiet

DATA = os.urandom(100_000)
MIB = 1 << 20

TASK = """
import sys
from tests.transfer.test_node_cache import Source, remote
from danlu.transfer.node_cache import NodeCache
cache, log, target = sys.argv[1:]
sys.stdin.readline()
source = Source(log)
NodeCache(cache, 1 << 20).place(remote(source.data(), target), source.fetch)
"""


class Source:
    """Where files come from. Notes each fetch as a line of a file."""

    def __init__(self, log: str | Path, data: bytes | None = None) -> None:
        self._log = Path(log)
        self._data = data

    def data(self) -> bytes:
        return self._data if self._data is not None else self._log.with_suffix(".data").read_bytes()

    def fetch(self, file: RemoteFile, told: Told) -> None:
        with self._log.open("a") as log:
            log.write(f"{file.to}\n")
        write_whole(file.to, self.data(), mark="x", is_executable=file.is_executable)
        told(file.to, len(self.data()), True)

    @property
    def num_fetches(self) -> int:
        return len(self._log.read_text().splitlines()) if self._log.exists() else 0


def remote(data: bytes, to: str | Path, *, is_executable: bool = False) -> RemoteFile:
    return RemoteFile("/x", str(to), len(data), hashlib.sha256(data).hexdigest(), is_executable)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cache"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path / "log", DATA)


def test_several_processes_fetch_once(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "log.data").write_bytes(DATA)
    targets = [tmp_path / str(number) for number in range(6)]
    tasks = [
        subprocess.Popen(
            [sys.executable, "-c", TASK, str(folder), str(tmp_path / "log"), str(target)],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        for target in targets
    ]
    for task in tasks:
        task.communicate(b"go\n")
    assert [task.returncode for task in tasks] == [0] * 6
    assert [target.read_bytes() for target in targets] == [DATA] * 6
    assert Source(tmp_path / "log").num_fetches == 1


def test_a_task_that_writes_to_its_copy_changes_no_other(tmp_path: Path, folder: Path, source: Source) -> None:
    cache = NodeCache(str(folder), MIB)
    for name in ("a", "b"):
        cache.place(remote(DATA, tmp_path / name), source.fetch)
    with (tmp_path / "a").open("r+b") as file:
        file.write(b"evil")
    os.chmod(tmp_path / "a", 0o777)
    cache.place(remote(DATA, tmp_path / "c"), source.fetch)
    assert (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes() == DATA
    files = [tmp_path / "a", tmp_path / "b", tmp_path / "c", *folder.iterdir()]
    assert len({path.stat().st_ino for path in files}) == len(files), "nobody shares an inode"
    assert source.num_fetches == 1


def test_a_cached_file_that_was_changed_is_not_used(tmp_path: Path, folder: Path, source: Source) -> None:
    cache = NodeCache(str(folder), MIB)
    cache.place(remote(DATA, tmp_path / "a"), source.fetch)
    (kept,) = folder.iterdir()
    kept.write_bytes(b"evil" + DATA[4:])
    cache.place(remote(DATA, tmp_path / "b"), source.fetch)
    assert (tmp_path / "b").read_bytes() == DATA
    assert source.num_fetches == 2
    kept.unlink()
    kept.symlink_to("/etc/passwd")
    cache.place(remote(DATA, tmp_path / "c"), source.fetch)
    assert (tmp_path / "c").read_bytes() == DATA


def test_the_right_to_execute_is_the_file_s_and_not_the_content_s(tmp_path: Path, folder: Path, source: Source) -> None:
    cache = NodeCache(str(folder), MIB)
    cache.place(remote(DATA, tmp_path / "a", is_executable=True), source.fetch)
    cache.place(remote(DATA, tmp_path / "b"), source.fetch)
    assert [os.access(tmp_path / name, os.X_OK) for name in ("a", "b")] == [True, False]


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path: Path, folder: Path) -> None:
    contents = [bytes([number]) * 400_000 for number in range(3)]
    cache = NodeCache(str(folder), MIB)
    for number, data in enumerate(contents[:2]):
        cache.place(remote(data, tmp_path / "x"), Source(tmp_path / "log", data).fetch)
        os.utime(folder / hashlib.sha256(data).hexdigest(), (number, number))
    assert cache.copy(remote(contents[0], tmp_path / "x")), "it is used now, so the other one is older"
    NodeCache(str(folder), MIB).place(remote(contents[2], tmp_path / "x"), Source(tmp_path / "log", contents[2]).fetch)
    kept = {path.name for path in folder.iterdir()}
    assert kept == {hashlib.sha256(contents[number]).hexdigest() for number in (0, 2)}


def test_what_is_too_large_for_it_is_fetched_past_it(tmp_path: Path, folder: Path, source: Source) -> None:
    NodeCache(str(folder), len(DATA) - 1).place(remote(DATA, tmp_path / "a"), source.fetch)
    assert (tmp_path / "a").read_bytes() == DATA
    assert list(folder.iterdir()) == []


def test_what_killed_processes_left_is_removed(tmp_path: Path, folder: Path, source: Source) -> None:
    left = time.time() - LEFT_BEHIND_SECONDS - 10
    for name in (".partial.x.y", "z.lock", ".partial.new"):
        (folder / name).write_bytes(b"x")
        if "new" not in name:
            os.utime(folder / name, (left, left))
    NodeCache(str(folder), MIB).place(remote(DATA, tmp_path / "a"), source.fetch)
    assert sorted(path.name for path in folder.iterdir()) == [".partial.new", hashlib.sha256(DATA).hexdigest()]


def test_a_folder_that_cannot_be_used_is_no_reason_to_fail(tmp_path: Path, source: Source) -> None:
    NodeCache(str(tmp_path / "nothing"), MIB).place(remote(DATA, tmp_path / "a"), source.fetch)
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_failed_fetch_is_everybody_s_own(tmp_path: Path, folder: Path, source: Source) -> None:
    def fail(_file: RemoteFile, _told: Told) -> None:
        raise Disconnected("broke")

    cache = NodeCache(str(folder), MIB)
    with pytest.raises(Disconnected):
        cache.place(remote(DATA, tmp_path / "a"), fail)
    cache.place(remote(DATA, tmp_path / "b"), source.fetch)
    assert (tmp_path / "b").read_bytes() == DATA
    assert [path.name for path in folder.iterdir()] == [hashlib.sha256(DATA).hexdigest()]


def test_who_fetches_and_is_silent_is_not_waited_for(tmp_path: Path, folder: Path, source: Source) -> None:
    is_over, begun = threading.Event(), threading.Event()

    def hang(_file: RemoteFile, _told: Told) -> None:
        begun.set()
        assert is_over.wait()
        raise Disconnected("broke")

    def first() -> None:
        with pytest.raises(Disconnected):
            NodeCache(str(folder), MIB).place(remote(DATA, tmp_path / "a"), hang)

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait()
    NodeCache(str(folder), MIB, silent_seconds=0.3).place(remote(DATA, tmp_path / "b"), source.fetch)
    assert (tmp_path / "b").read_bytes() == DATA
    is_over.set()
    thread.join()


def test_bytes_that_move_show_those_who_wait_that_it_goes_on(tmp_path: Path, folder: Path, source: Source) -> None:
    def fetch(file: RemoteFile, told: Told) -> None:
        (lock,) = folder.glob("*.lock")
        os.utime(lock, (1, 1))
        while lock.stat().st_mtime == 1:
            told(file.to, 1, True)
        source.fetch(file, told)

    NodeCache(str(folder), MIB).place(remote(DATA, tmp_path / "a"), fetch)
    assert (tmp_path / "a").read_bytes() == DATA


def test_without_a_digest_there_is_nothing_to_look_for(tmp_path: Path, folder: Path, source: Source) -> None:
    file = remote(DATA, tmp_path / "a")._replace(sha256=None)
    NodeCache(str(folder), MIB).place(file, source.fetch, told=quiet)
    assert (tmp_path / "a").read_bytes() == DATA
    assert list(folder.iterdir()) == []
