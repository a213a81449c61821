"""Shards behind a URL: fetched into a local cache as whole files, ahead of their use.

    <cache_dir>/<digest of the URL>/<digest of the index>/   index and shards, each complete or absent

A changed index has another digest, so a data set that was packed again never uses old shards. If the cache has a size
limit, the least recently used shards are removed (cache.py).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import urlopen

from danlu_accel.records.cache import clean, list_copies, make_room, note_use
from danlu_accel.records.errors import BadRecordFile, Unavailable
from danlu_accel.records.files import Name, whole_file, write_whole
from danlu_accel.records.index import Shard
from danlu_accel.records.order import Order
from danlu_accel.records.storage import Forget

CHUNK_BYTES = 4 << 20
MAX_INDEX_BYTES = 8 << 30
SHARDS_AHEAD = 4
"""Shards fetched beyond the window that is being read."""
NOBODY = 0
"""Key of the shards that are needed first, before any thread waits for them."""


class ObjectReader(Protocol):
    """Interface of an object store."""

    def read(self, name: str) -> Iterator[bytes]:
        """Yield an object in pieces; raise BadRecordFile with its name on failure."""


class HttpReader:
    """Plain HTTP, from the standard library."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def read(self, name: str) -> Iterator[bytes]:
        try:
            with urlopen(f"{self._url}/{quote(name)}", timeout=60) as response:
                while chunk := response.read(CHUNK_BYTES):
                    yield chunk
        except (HTTPException, OSError) as error:
            if isinstance(error, HTTPError):
                error.close()
            raise BadRecordFile(f"cannot fetch {self._url}/{name}: {error}") from error


class ObstoreReader:
    """S3 and compatible stores, through obstore. Keys, region and endpoint come from AWS_* variables."""

    first_pid: ClassVar[int | None] = None
    """The process that owns obstore's threads, which do not survive a fork."""

    def __init__(self, url: str) -> None:
        if find_spec("obstore") is None:
            raise Unavailable(f"{url} needs the package obstore: pip install 'danlu-accel[s3]'")
        self._url = url

    def read(self, name: str) -> Iterator[bytes]:
        if ObstoreReader.first_pid is None:
            ObstoreReader.first_pid = os.getpid()
        if ObstoreReader.first_pid != os.getpid():
            yield from _read_in_a_new_process(self._url, name)
            return
        import obstore

        try:
            for chunk in obstore.get(self._store, name).stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(chunk)
        except (OSError, obstore.exceptions.BaseError) as error:
            raise BadRecordFile(f"cannot fetch {self._url}/{name}: {error}") from error

    @cached_property
    def _store(self) -> Any:
        from obstore.store import S3Store

        parts = urlsplit(self._url)
        options: dict[str, Any] = {}
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        if endpoint:
            options["endpoint"] = endpoint
            options["client_options"] = {"allow_http": endpoint.startswith("http://")}
        return S3Store(parts.netloc, prefix=parts.path.strip("/") or None, **options)

    def __getstate__(self) -> dict[str, object]:
        return {"_url": self._url}


def _read_in_a_new_process(url: str, name: str) -> Iterator[bytes]:
    """Yield an object fetched by a subprocess, for forked workers."""
    command = [sys.executable, "-m", "danlu_accel.records.fetch", url, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            while chunk := process.stdout.read(CHUNK_BYTES):
                yield chunk
            told = process.stderr.read(1 << 16).decode(errors="replace").strip()
        finally:
            process.kill()  # does nothing if it has ended
    if process.returncode:
        raise BadRecordFile(told or f"cannot fetch {url}/{name}: its process ended")


def reader_for(url: str) -> ObjectReader:
    scheme = urlsplit(url).scheme
    if scheme in ("http", "https"):
        return HttpReader(url)
    if scheme == "s3":
        return ObstoreReader(url)
    raise Unavailable(f"no reader for {url!r}; known: s3://bucket/prefix, http://, https://")


class RemoteStorage:
    is_remote = True

    def __init__(self, url: str, cache_dir: Name | None, cache_bytes: int | None = None) -> None:
        self._url = url
        self._reader = reader_for(url)
        self._cache_bytes = cache_bytes
        default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "danlu-records"
        self._base = Path(cache_dir or default) / _digest(url.encode())
        self._folder = self._base
        self._shards: tuple[Shard, ...] = ()
        self._forget: Forget = _forget_nothing
        self._index_name = ""
        self._order: Order | None = None
        self._goes_on = False
        self._wanted: dict[int, list[int]] = {}
        """The shards of each epoch, in the order of their use."""
        self._needed: dict[int, set[int]] = {}
        """The shards that each reading thread waits for or will need next."""
        self._forget_fetches()

    def prepare(self, file: Name) -> Path:
        """Fetch the index; return the local folder of the index and its shards."""
        name = Path(str(file)).name
        raw = self._read_index(name)
        self._folder = self._base / _digest(raw)
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / name, [raw])
        self._index_name = name
        clean(self._base.parent)
        return self._folder

    def use(self, shards: Sequence[Shard], forget: Forget) -> None:
        self._shards, self._forget = tuple(shards), forget
        list_copies(self._folder, [self._index_name, *(shard.name for shard in shards)])

    def follow(self, order: Order, position: int, *, goes_on: bool = False) -> None:
        """Start to fetch in the given order from `position` on."""
        self._order, self._goes_on = order, goes_on
        self._wanted = {order.epoch: list(self._shards_from(order, position))}
        ahead = self._ahead_of((), order.epoch)
        self._needed = {NOBODY: set(ahead)}
        for number in ahead:
            self._fetch(number)

    def wait_for(self, numbers: Collection[int], epoch: int | None = None) -> None:
        """Wait until these shards are available; fetch those that follow in their epoch meanwhile."""
        if epoch is None and self._order is not None:
            epoch = self._order.epoch
        ahead = self._ahead_of(numbers, epoch)
        self._needed[threading.get_ident()] = {*numbers, *ahead}
        self._needed.pop(NOBODY, None)
        if self._cache_bytes is not None:
            for number in numbers:
                note_use(self._path(number))
        futures = [self._fetch(number) for number in numbers]
        for number in ahead:
            self._fetch(number)
        for future in futures:
            future.result()

    def fetch_again(self, number: int) -> bool:
        """Fetch a shard whose copy in the cache is damaged or missing."""
        if self._pid != os.getpid():  # a lock may have been held during the fork
            self._forget_fetches()
        self._download(number)
        return True

    def read_ahead(self, folder: Path) -> int:  # noqa: ARG002
        return 0

    def describe(self) -> str:
        return f"from {self._url} through the cache {str(self._folder)!r}"

    def close(self) -> None:
        if self._pool is not None and self._pid == os.getpid():
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._forget_fetches()

    def __getstate__(self) -> dict[str, object]:
        """Return the state for a spawned process, which fetches on its own."""
        return {**self.__dict__, "_pid": 0, "_lock": None, "_room_lock": None, "_fetches": {}, "_pool": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._forget_fetches()

    def _read_index(self, name: str) -> bytes:
        raw = bytearray()
        for chunk in self._reader.read(name):
            raw += chunk
            if len(raw) > MAX_INDEX_BYTES:
                raise BadRecordFile(
                    f"{self._url}/{name}: expected an index of at most {MAX_INDEX_BYTES} bytes, got more"
                )
        return bytes(raw)

    def _shards_from(self, order: Order, position: int) -> Iterator[int]:
        sizes = order.shard_sizes
        begin = 0
        for shard in order.shards_in_order():
            if not sizes or begin + sizes[shard] > position:
                yield shard
            begin += sizes[shard] if sizes else 0

    def _ahead_of(self, numbers: Collection[int], epoch: int | None) -> list[int]:
        """Return the next SHARDS_AHEAD shards after the furthest of `numbers` in their epoch."""
        if epoch is None:
            return []
        wanted = self._wanted_in(epoch)
        reached = max((wanted.index(number) for number in numbers if number in wanted), default=-1)
        ahead = wanted[reached + 1 : reached + 1 + SHARDS_AHEAD]
        if self._goes_on:
            ahead += self._wanted_in(epoch + 1)[: SHARDS_AHEAD - len(ahead)]
        return ahead

    def _wanted_in(self, epoch: int) -> list[int]:
        found = self._wanted.get(epoch)
        if found is None:
            assert self._order is not None
            found = replace(self._order, epoch=epoch).shards_in_order()
            recent = {number: shards for number, shards in self._wanted.items() if number >= epoch - 2}
            self._wanted = {**recent, epoch: found}  # a new dict: other threads may read the old one
        return found

    def _path(self, number: int) -> Path:
        return self._folder / self._shards[number].name

    def _make_room(self, fetched: int) -> None:
        """Enforce the size limit of the cache. Removed shards are fetched again on use."""
        if self._cache_bytes is None:
            return
        with self._room_lock:
            needed = {fetched}.union(*list(self._needed.values()))
            removed = make_room(self._base.parent, self._cache_bytes, [self._path(number) for number in needed])
        for number, shard in enumerate(self._shards):
            if self._folder / shard.name in removed:
                with self._lock:
                    self._fetches.pop(number, None)
                self._forget(number)

    def _forget_fetches(self) -> None:
        self._pid = os.getpid()
        self._lock, self._room_lock = threading.Lock(), threading.Lock()
        self._fetches: dict[int, Future[None]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def _fetch(self, number: int) -> Future[None]:
        if self._pid != os.getpid():  # threads do not survive a fork
            self._forget_fetches()
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(SHARDS_AHEAD, "danlu-fetch")
            future = self._fetches.get(number)
            if future is None or (future.done() and future.exception() is not None):  # retry a failed fetch
                future = self._fetches[number] = self._pool.submit(self._fetch_shard, number)
            return future

    def _fetch_shard(self, number: int) -> None:
        shard, path = self._shards[number], self._path(number)
        if path.is_file() and path.stat().st_size == shard.num_bytes:
            return  # checksums detect records that are damaged nevertheless, see fetch_again
        self._download(number)

    def _download(self, number: int) -> None:
        shard = self._shards[number]
        with whole_file(self._path(number)) as file:
            for chunk in self._reader.read(shard.name):
                file.write(chunk)
                if file.tell() > shard.num_bytes:
                    break
            if file.tell() != shard.num_bytes:
                raise BadRecordFile(
                    f"{self._url}/{shard.name}: expected {shard.num_bytes} bytes, as the index says, got {file.tell()}"
                )
        self._make_room(number)


def _forget_nothing(_: int) -> None:
    pass


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
