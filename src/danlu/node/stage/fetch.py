"""Fetch the inputs of a task. Each file appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

from danlu.node.stage.elsewhere import S3, WEB, Elsewhere, NotFetched
from danlu.node.task import TaskInput
from danlu.transfer.api import Api, quote
from danlu.transfer.artifact_download import fetch_files, fetch_manifest, make_folders
from danlu.transfer.errors import Damaged, Refused
from danlu.transfer.file_download import RemoteFile
from danlu.transfer.local_files import make_folder
from danlu.transfer.node_cache import NodeCache
from danlu.transfer.object_download import Incoming, fetch_objects, list_objects
from danlu.transfer.trees import fetch_tree

MAX_TRIES = 3
"""Number of tries for an input that is replaced during the transfer or arrives damaged."""

ARTIFACT = "artifact:"
Say = Callable[[str], None]


class InputMissing(Exception):
    """The input does not exist in the store, or this job has no access to it."""


class Sources(NamedTuple):
    """Where inputs are fetched from."""

    api: Api
    cache: Optional[NodeCache]
    elsewhere: Callable[[], Elsewhere]


def fetch_all(sources: Sources, inputs: Sequence[TaskInput], *, say: Say) -> None:
    """Fetch every input. Raise InputMissing, Refused, ServerAway, Damaged or LocalProblem at the first that fails."""
    for item in inputs:
        make_folder(os.path.dirname(item.to) or ".")
        for number in range(1, MAX_TRIES + 1):
            try:
                _fetch(sources, item, say=say)
                break
            except NotFetched as error:
                raise InputMissing(str(error)) from error
            except Refused as refused:
                if refused.status in (403, 404):
                    raise InputMissing(f"{item.source}: {refused.message}") from refused
                raise
            except Damaged as damaged:
                say(f"{item.source}: {damaged}")
                if number == MAX_TRIES:
                    raise


def _fetch(sources: Sources, item: TaskInput, *, say: Say) -> None:
    api, cache = sources.api, sources.cache
    if item.source.startswith((WEB, S3)):
        num_files = sources.elsewhere().fetch(item.source, item.to)
        say(f"{item.source.partition('#')[0].partition('?')[0]}: {num_files} files")
        return
    if item.source.startswith("tree:"):
        digest = item.source[len("tree:") :]
        blobs = [_blob(found, item.to) for found in api.get(f"/trees/{digest}")["files"]]
        say(f"{item.source}: {len(blobs)} files")
        make_folder(item.to)
        fetch_tree(api, digest, blobs, cache=cache)
        return
    if item.source.startswith(ARTIFACT):
        version_id = item.source[len(ARTIFACT) :]
        num_files = _fetch_version(api, version_id, item.to)
        say(f"{item.source}: {num_files} files")
        return
    fetched: list[Incoming] = []
    fetch_objects(api, _objects_of(api, item), done=fetched.append, cache=cache)
    say(f"{item.source}: {len(fetched)} files")
    if not fetched:
        make_folder(item.to)


def _fetch_version(api: Api, version_id: str, to: str) -> int:
    """Fetch all files of an artifact version; return how many there are."""
    make_folder(to)
    digest = str(api.get(f"/artifacts/versions/{quote(version_id)}")["manifest"])
    try:
        manifest = fetch_manifest(api, version_id, digest)
    except ValueError as error:
        raise InputMissing(f"{ARTIFACT}{version_id} cannot be read here: {error}") from error
    if manifest.references:
        first = manifest.references[0]
        raise InputMissing(f"{ARTIFACT}{version_id}: {first.path} is not a file but a reference to {first.uri}")
    for file in manifest.files:
        _below(to, file.path)
    make_folders(manifest, to)
    return len(fetch_files(api, version_id, manifest.files, to))


def _blob(found: dict[str, Any], to: str) -> RemoteFile:
    sha256 = str(found["sha256"])
    path = _below(to, str(found["path"]))
    return RemoteFile(f"/blobs/{sha256}", path, int(found["size"]), sha256, bool(found.get("is_executable")))


def _objects_of(api: Api, item: TaskInput) -> Iterator[Incoming]:
    """Yield the objects of an input as they are listed. Raise InputMissing when there is none."""
    bucket, _, key = item.source[len("store://") :].partition("/")
    below = f"{key.rstrip('/')}/".lstrip("/")
    exact, has_some = None, False
    try:
        for found in list_objects(api, bucket, key):
            if found["key"] == key and not key.endswith("/"):
                exact = found
            elif found["key"].startswith(below) and not found["key"].endswith("/"):
                has_some = True
                yield Incoming(bucket, found["key"], _below(item.to, found["key"][len(below) :]), int(found["size"]))
    except Refused as refused:
        if not item.is_own or refused.status not in (403, 404):
            raise
    if exact is not None and not has_some:
        # an object for an existing folder goes into it, as with cp
        target = os.path.join(item.to, os.path.basename(key)) if os.path.isdir(item.to) else item.to
        yield Incoming(bucket, key, target, int(exact["size"]))
    elif not has_some and not item.is_own:
        raise InputMissing(f"{item.source}: the store has no object and no folder of that name")


def _below(folder: str, path: str) -> str:
    """Join paths, and reject names that would leave the folder. The server checks them too."""
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names) or "\0" in path:
        raise InputMissing(f"{path!r} is not a path below a folder")
    return os.path.join(folder, *names)
