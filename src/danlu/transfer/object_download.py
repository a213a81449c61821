"""Objects from the store: small ones in batches, the others one by one, several at a time."""

from __future__ import annotations

import hashlib
import os
import urllib.parse
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Callable, NamedTuple, Optional

from danlu.content.packs import unpack
from danlu.transfer.api import Api, quote
from danlu.transfer.batches import in_batches
from danlu.transfer.crew import Crew
from danlu.transfer.errors import Damaged, Refused
from danlu.transfer.file_download import RemoteFile, fetch_file
from danlu.transfer.local_files import make_folder, write_whole
from danlu.transfer.node_cache import NodeCache
from danlu.transfer.object_answers import About, about_of, object_path
from danlu.transfer.progress import Told, quiet

NUM_PARALLEL = 4
PAGE = 1000


class Incoming(NamedTuple):
    """An object, and the file that it becomes."""

    bucket: str
    key: str
    to: str
    size: int
    """As it was listed. It decides how the object travels."""

    about: Optional[About] = None


Done = Callable[[Incoming], None]
"""Called, from any thread, when a file is in its place. What it raises ends everything."""


def list_objects(api: Api, bucket: str, prefix: str) -> Iterator[dict[str, Any]]:
    """All objects whose keys begin with the prefix, in order: `key` and `size`."""
    cursor = None
    while True:
        query = {"prefix": prefix, "limit": str(PAGE), **({"cursor": cursor} if cursor else {})}
        page = api.get(f"/buckets/{quote(bucket)}/objects?{urllib.parse.urlencode(query)}")
        yield from page["objects"]
        cursor = page.get("next")
        if not cursor:
            return


def fetch_objects(
    api: Api,
    files: Iterable[Incoming],
    *,
    done: Done = lambda _: None,
    told: Told = quiet,
    cache: Optional[NodeCache] = None,
    num_parallel: int = NUM_PARALLEL,
) -> None:
    """Fetch objects, the first ones while the last are still being listed.

    The first problem ends it: Refused, ServerAway, Damaged, LocalProblem, and what `files` and `done` raise.
    """

    def fetch(batch: list[Incoming]) -> None:
        fetcher = _Fetcher(api.until(crew.has_failed), done, crew.told(told), cache)
        for file in fetcher.fetch_batch(batch) if len(batch) > 1 else batch:
            fetcher.fetch(file)

    with Crew(fetch, num_parallel) as crew:
        for batch in in_batches(_with_folders(files), size=lambda file: file.size, group=lambda file: file.bucket):
            crew.put(batch)


def _with_folders(files: Iterable[Incoming]) -> Iterator[Incoming]:
    """The same files; the folder of each is there when it comes."""
    made: set[str] = set()
    for file in files:
        folder = os.path.dirname(file.to) or "."
        if folder not in made:
            make_folder(folder)
            made.add(folder)
        yield file


class _Fetcher:
    def __init__(self, api: Api, done: Done, told: Told, cache: Optional[NodeCache]) -> None:
        self._api = api
        self._done = done
        self._told = told
        self._cache = cache
        self._mark = uuid.uuid4().hex[:12]

    def fetch(self, file: Incoming) -> None:
        path = object_path(file.bucket, file.key)
        remote = RemoteFile(path, file.to, file.size)
        if self._cache is None:
            fetch_file(self._api, remote, about=file.about, told=self._told)
        else:
            about = file.about or about_of(self._api.head(path))

            def fetch(one: RemoteFile, told: Told) -> None:
                fetch_file(self._api, one, about=about, told=told)

            self._cache.place(remote._replace(size=about.size, sha256=about.sha256), fetch, told=self._told)
        self._done(file)

    def fetch_batch(self, files: Sequence[Incoming]) -> list[Incoming]:
        """Fetch small objects; return those that turned out to be too large for it."""
        path = f"/buckets/{quote(files[0].bucket)}/reads"
        body = self._api.fetch("POST", path, {"keys": [file.key for file in files]})
        try:
            header, rest = unpack(body)
            return self._write_batch(files, header, rest)
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{path} answered with something that is not a batch: {error}") from error

    def _write_batch(self, files: Sequence[Incoming], header: list[dict[str, Any]], rest: memoryview) -> list[Incoming]:
        if [item["key"] for item in header] != [file.key for file in files]:
            raise ValueError("its keys differ from those requested")
        large, begin = [], 0
        for file, item in zip(files, header):
            if item.get("is_missing"):
                raise Refused(404, f"there is no object store://{file.bucket}/{file.key}", error="NotFound")
            if item.get("size") is None:
                large.append(file)
                continue
            size, sha256 = int(item["size"]), item.get("sha256")
            data = rest[begin : begin + size]
            begin += size
            if len(data) != size or (sha256 is not None and hashlib.sha256(data).hexdigest() != sha256):
                raise Damaged(f"{file.to}: the bytes that arrived differ from those sent; try again")
            write_whole(file.to, data, mark=self._mark)
            self._told(file.to, size, True)
            self._done(file)
        return large
