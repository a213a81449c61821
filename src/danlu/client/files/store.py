"""`client.store`: files in buckets. Paths are `bucket/key` or `store://bucket/key`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, Optional, Union

from danlu.client.files.paths import quote_part
from danlu.client.files.progress import Meter, Progress
from danlu.client.http import Http, Query
from danlu.client.pages import pages
from danlu.errors import InvalidInput, NotFound
from danlu.spec.paths import StorePath, check_key, parse_store_path
from danlu.transfer.errors import LocalProblem
from danlu.transfer.object_answers import About, about_of, object_path
from danlu.transfer.object_download import Incoming, fetch_objects
from danlu.transfer.object_upload import OneProblem, Outgoing, send_objects
from danlu.wire.store import BucketOut, DeletedOut, ListingOut, MakeBucket, MoveBucket, ObjectOut

NUM_PARALLEL = 4
PathText = Union[str, "os.PathLike[str]"]
Listener = Callable[[Progress], None]


class Store:
    def __init__(self, http: Http) -> None:
        self._http = http

    def upload(
        self,
        local: PathText,
        to: str,
        *,
        progress: Optional[Listener] = None,
        num_parallel: int = NUM_PARALLEL,
    ) -> list[str]:
        """Upload a file, or all files in a folder, and return their store paths.

        If `to` ends in `/`, it is a folder: a file keeps its name in it, and a folder's content is put into it. Each
        object appears complete or not at all; uploaded objects stay when a later one fails. Interrupted uploads of
        large files are resumed.
        """
        files = _plan_upload(Path(local), parse(to))
        meter = Meter(progress, total_bytes=sum(file.size for file in files), num_files=len(files))

        def done(file: Outgoing, problem: Optional[OneProblem]) -> None:
            if problem is not None:
                raise problem
            meter.finished(file.local)

        try:
            with self._http.plain_errors():
                send_objects(self._http.api, files, done=done, told=meter.told, num_parallel=num_parallel)
        except LocalProblem as problem:
            raise InvalidInput(f"{problem.path} cannot be read: {problem.why}") from problem
        return [str(StorePath(file.bucket, file.key)) for file in files]

    def download(
        self,
        source: str,
        local: PathText = ".",
        *,
        progress: Optional[Listener] = None,
        num_parallel: int = NUM_PARALLEL,
    ) -> list[Path]:
        """Download an object, or all objects in a folder (a path ending in `/`), and return the local files.

        An object is written to `local`, or into it when that is a folder. Each file appears complete or not at all,
        verified by SHA-256. Raises NotFound when there is nothing at `source`.
        """
        files = _plan_download(self, parse(source), local)
        meter = Meter(progress, total_bytes=sum(file.size for file in files), num_files=len(files))

        def done(file: Incoming) -> None:
            meter.finished(file.to)

        try:
            with self._http.plain_errors():
                fetch_objects(self._http.api, files, done=done, told=meter.told, num_parallel=num_parallel)
        except LocalProblem as problem:
            raise problem.error from problem
        return [Path(file.to) for file in files]

    def list(self, path: str) -> Iterator[ObjectOut]:
        """Yield all objects whose key starts with the path's key, sorted by key."""
        for listing in self._listings(parse(path), is_flat=True):
            yield from listing.objects

    def browse(self, path: str) -> Iterator[Union[str, ObjectOut]]:
        """Yield one level of a folder: the keys of its folders (ending in `/`) and its objects."""
        for listing in self._listings(parse(path), is_flat=False):
            yield from listing.folders
            yield from listing.objects

    def page(self, path: str, *, after: str = "", limit: int = 1000, is_flat: bool = False) -> ListingOut:
        """Return one page of a folder, of keys after `after`; with `is_flat`, of all keys that start with the path's
        key."""
        where = parse(path)
        query: Query = {
            "prefix": where.key,
            "delimiter": None if is_flat else "/",
            "cursor": after or None,
            "limit": limit,
        }
        return self._http.get(f"/buckets/{where.bucket}/objects", ListingOut, query=query)

    def exists(self, path: str) -> bool:
        """Whether the object exists; for a path ending in `/`, whether the folder contains any."""
        where = parse(path)
        if not where.key or where.key.endswith("/"):
            return next(self.list(path), None) is not None
        try:
            self.size(path)
        except NotFound:
            return False
        return True

    def size(self, path: str) -> int:
        """Return the size of an object in bytes. Raises NotFound."""
        return self._about(parse(path)).size

    def delete(self, path: str) -> int:
        """Delete an object, or everything in a folder (a path ending in `/`). Return how many objects were deleted."""
        where = parse(path)
        if where.key.endswith("/"):
            answer = self._http.delete(f"/buckets/{where.bucket}/objects", DeletedOut, query={"prefix": where.key})
        elif where.key:
            answer = self._http.delete(object_path(where.bucket, where.key), DeletedOut)
        else:
            raise InvalidInput(f"{path!r} is a whole bucket; name a folder or an object in it", fields={"path": path})
        return answer.num_objects

    def empty(self, bucket: str) -> int:
        """Delete everything in a bucket. Return how many objects were deleted."""
        where = StorePath(bucket, "")
        return sum(self.delete(f"{where}{_key(entry)}") for entry in list(self.browse(str(where))))

    def buckets(self) -> Iterator[BucketOut]:
        return pages(self._http, "/buckets", BucketOut)

    def make_bucket(self, name: str, *, project: Optional[str] = None) -> BucketOut:
        """Create a bucket in a project; by default in the first one that you may use."""
        return self._http.post("/buckets", BucketOut, body=MakeBucket(name=name, project=project))

    def move_bucket(self, name: str, project: str) -> BucketOut:
        """Move a bucket to another project."""
        return self._http.patch(f"/buckets/{quote_part(name)}", BucketOut, body=MoveBucket(project=project))

    def delete_bucket(self, name: str) -> None:
        """Delete an empty bucket."""
        self._http.send("DELETE", f"/buckets/{quote_part(name)}")

    def _about(self, where: StorePath) -> About:
        try:
            with self._http.plain_errors():
                return about_of(self._http.api.head(object_path(where.bucket, where.key)))
        except NotFound as error:
            # a response to HEAD has no body that could say what is missing
            raise NotFound(f"there is no object {where}") from error

    def _listings(self, where: StorePath, *, is_flat: bool) -> Iterator[ListingOut]:
        after: Optional[str] = ""
        while after is not None:
            listing = self.page(str(where), after=after, is_flat=is_flat)
            yield listing
            after = listing.next


def parse(path: str) -> StorePath:
    try:
        return parse_store_path(path)
    except ValueError as error:
        raise InvalidInput(str(error), fields={"path": path}) from error


def _key(entry: Union[str, ObjectOut]) -> str:
    """Key of a folder or an object."""
    return entry if isinstance(entry, str) else entry.key


def _plan_upload(local: Path, to: StorePath) -> list[Outgoing]:
    if local.is_file():
        is_folder = not to.key or to.key.endswith("/")
        return [_outgoing(local, to / local.name if is_folder else to)]
    if not local.is_dir():
        raise InvalidInput(f"there is no file or folder {str(local)!r}", fields={"local": str(local)})
    files = sorted(path for path in local.rglob("*") if path.is_file())
    return [_outgoing(path, to / path.relative_to(local).as_posix()) for path in files]


def _outgoing(local: Path, remote: StorePath) -> Outgoing:
    try:
        check_key(remote.key)
    except ValueError as error:
        raise InvalidInput(f"{local} cannot be stored: {error}", fields={"local": str(local)}) from error
    return Outgoing(str(local), remote.bucket, remote.key, local.stat().st_size)


def _plan_download(store: Store, source: StorePath, to: PathText) -> list[Incoming]:
    local, to_folder = Path(to), os.fspath(to).endswith(os.sep)
    if source.key and not source.key.endswith("/"):
        name = source.key.rpartition("/")[2]
        about = store._about(source)
        target = local / name if to_folder or local.is_dir() else local
        return [Incoming(source.bucket, source.key, str(target), about.size, about)]
    files = []
    for found in store.list(str(source)):
        check_key(found.key)  # a server must not choose paths outside the folder
        files.append(Incoming(source.bucket, found.key, str(local / found.key[len(source.key) :]), found.size))
    if not files:
        raise NotFound(f"nothing is stored below {source}")
    return files
