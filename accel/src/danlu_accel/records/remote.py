"""Shards behind a URL: fetched whole into a local cache, ahead of the order in which they are wanted.

    <cache_dir>/<digest of the URL>/<digest of the index>/   index and shards, each complete or not there at all

A changed index has another digest, so a data set that was packed again never meets old shards. Where the cache has a
limit, the shards that were used longest ago make room (cache.py).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

from danlu_accel.records.cache import make_room, note_use
from danlu_accel.records.errors import BadRecordFile, Unavailable
from danlu_accel.records.files import Name, whole_file, write_whole
from danlu_accel.records.index import Shard
from danlu_accel.records.order import Order
from danlu_accel.records.storage import Forget

CHUNK_BYTES = 4 << 20
MAX_INDEX_BYTES = 8 << 30
SHARDS_AHEAD = 4
"""Shards fetched beyond the window that is being read."""


class ObjectReader(Protocol):
    """All we ask of a place that keeps objects."""

    def read(self, name: str) -> Iterator[bytes]:
        """Yield an object piece by piece; raise BadRecordFile naming it if that fails."""


class HttpReader:
    """Plain HTTP, from the standard library."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def read(self, name: str) -> Iterator[bytes]:
        try:
            with urlopen(f"{self._url}/{name}", timeout=60) as response:
                while chunk := response.read(CHUNK_BYTES):
                    yield chunk
        except (HTTPException, OSError) as error:
            if isinstance(error, HTTPError):
                error.close()
            raise BadRecordFile(f"cannot fetch {self._url}/{name}: {error}") from error


class ObstoreReader:
    """S3 and everything that speaks it, through obstore. Keys, region and endpoint come from AWS_* variables."""

    def __init__(self, url: str) -> None:
        try:
            import obstore
            from obstore.store import S3Store
        except ImportError as error:
            raise Unavailable(f"{url} needs the package obstore: pip install 'danlu-accel[s3]'") from error
        parts = urlsplit(url)
        options: dict[str, Any] = {}
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        if endpoint:
            options["endpoint"] = endpoint
            options["client_options"] = {"allow_http": endpoint.startswith("http://")}
        self._url = url
        self._pid = os.getpid()
        self._obstore = obstore
        self._store = S3Store(parts.netloc, prefix=parts.path.strip("/") or None, **options)

    def read(self, name: str) -> Iterator[bytes]:
        if self._pid != os.getpid():  # obstore's own threads do not survive a fork either
            raise Unavailable(
                f"cannot fetch {self._url}/{name} in a forked process: make the loader there, in a process that was "
                "started with the method spawn or forkserver"
            )
        try:
            for chunk in self._obstore.get(self._store, name).stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(chunk)
        except (OSError, self._obstore.exceptions.BaseError) as error:
            raise BadRecordFile(f"cannot fetch {self._url}/{name}: {error}") from error


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
        self._forget: Forget = lambda _: None
        self._wanted: list[int] = []
        self._needed: set[int] = set()
        self._forget_fetches()

    def prepare(self, file: Name) -> Path:
        """Fetch the index; return the folder where it and its shards belong."""
        name = Path(str(file)).name
        raw = self._read_index(name)
        self._folder = self._base / _digest(raw)
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / name, [raw])
        return self._folder

    def use(self, shards: Sequence[Shard], forget: Forget) -> None:
        self._shards, self._forget = tuple(shards), forget

    def follow(self, order: Order, position: int) -> None:
        """Begin to fetch what the order wants from `position` on."""
        self._wanted = list(self._shards_from(order, position))
        self._fetch_ahead(())

    def wait_for(self, numbers: Collection[int]) -> None:
        """Return when these shards are here; what comes after them is fetched meanwhile."""
        futures = [self._fetch(number) for number in numbers]
        self._fetch_ahead(numbers)
        for future in futures:
            future.result()

    def fetch_again(self, number: int) -> bool:
        """Fetch a shard whose copy in the cache is damaged."""
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

    def _fetch_ahead(self, numbers: Collection[int]) -> None:
        """Keep SHARDS_AHEAD fetches beyond the furthest needed shard under way."""
        reached = max((self._wanted.index(number) for number in numbers if number in self._wanted), default=-1)
        ahead = self._wanted[reached + 1 : reached + 1 + SHARDS_AHEAD]
        if self._cache_bytes is not None:
            self._needed = {*numbers, *ahead}
            for number in numbers:
                note_use(self._path(number))
        for number in ahead:
            self._fetch(number)

    def _path(self, number: int) -> Path:
        return self._folder / self._shards[number].name

    def _make_room(self) -> None:
        """Keep to the limit of the cache. What was removed is fetched again when it is asked for."""
        if self._cache_bytes is None:
            return
        with self._room_lock:
            removed = make_room(self._base.parent, self._cache_bytes, [self._path(number) for number in self._needed])
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
            if future is None or (future.done() and future.exception() is not None):  # a failed fetch is tried again
                future = self._fetches[number] = self._pool.submit(self._fetch_shard, number)
            return future

    def _fetch_shard(self, number: int) -> None:
        shard, path = self._shards[number], self._path(number)
        if path.is_file() and path.stat().st_size == shard.num_bytes:
            return  # records that are damaged all the same are found by their checksums, see fetch_again
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
        self._make_room()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
