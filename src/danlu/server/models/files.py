"""The files of a model version: listed and copied, with no transaction open."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from danlu.content.manifest import Manifest, read_manifest
from danlu.errors import Conflict, NotFound
from danlu.server.models.sources import Source
from danlu.server.objects.located import Located, below
from danlu.server.state import ServerState
from danlu.spec.paths import StorePath
from danlu.store.objects.base import ObjectInfo

NUM_AT_A_TIME = 4
MAX_FILES = 100_000


class Files(NamedTuple):
    """The files of a source."""

    where: Located | None
    """The folder, with a slash at its end, or the object; None for those of an artifact."""

    objects: list[ObjectInfo]
    manifest: Manifest | None = None

    @property
    def size(self) -> int:
        return sum(info.size for info in self.objects) if self.manifest is None else self.manifest.size

    @property
    def num_files(self) -> int:
        return len(self.objects) if self.manifest is None else len(self.manifest.files)


def look(state: ServerState, source: Source) -> Files:
    """The files of a source. Raise NotFound when there are none."""
    if source.manifest is not None:
        return Files(None, [], read_manifest(b"".join(state.blobs.read(source.manifest))))
    tried = [where for where in (source.where, source.whole) if where is not None]
    for where in tried:
        found = _at(state, where)
        if found is not None:
            return found
    raise NotFound(f"nothing is stored at {tried[-1].path}; there is no model to register")


def copy(state: ServerState, files: Files, target: StorePath) -> None:
    """Copy all files below `target`. Files of an earlier attempt are overwritten."""
    if files.manifest is not None:
        _write_out(state, files.manifest, target)
        return
    assert files.where is not None
    source = files.where.stored
    folder = source.key if source.key.endswith("/") else source.key.rpartition("/")[0] + "/"

    def one(info: ObjectInfo) -> None:
        state.objects.copy(StorePath(source.bucket, info.key), target / info.key[len(folder.lstrip("/")) :])

    with ThreadPoolExecutor(NUM_AT_A_TIME) as pool:
        for _ in pool.map(one, files.objects):
            pass


def _at(state: ServerState, where: Located) -> Files | None:
    if where.path.key and not where.path.key.endswith("/"):
        try:
            return Files(where, [state.objects.stat(where.stored)])
        except NotFound:
            where = below(where, "/")
    objects = list(_below(state, where.stored))
    return Files(where, objects) if objects else None


def _below(state: ServerState, path: StorePath) -> Iterator[ObjectInfo]:
    after, num_found = "", 0
    while True:
        page = state.objects.list(path.bucket, prefix=path.key, delimiter="", after=after, limit=1000)
        num_found += len(page.objects)
        if num_found > MAX_FILES:
            raise Conflict(f"{path.key} has more than {MAX_FILES} files; register the folder of the model itself")
        yield from page.objects
        if page.next is None:
            return
        after = page.next


def _write_out(state: ServerState, manifest: Manifest, target: StorePath) -> None:
    if manifest.references:
        first = manifest.references[0]
        raise Conflict(
            f"the artifact refers to {first.uri}, which is elsewhere and cannot be copied; register it without a copy"
        )
    for file in manifest.files:
        writer = state.objects.put(target / file.path)
        try:
            for chunk in file.chunks:
                for piece in state.blobs.read_checked(chunk.sha256):
                    writer.write(piece)
        except BaseException:
            writer.abort()
            raise
        writer.commit(file.sha256)
