"""Folders by content: the code of a job. Files that the other side has do not travel."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Optional
from urllib.parse import quote

from danlu.content.packs import SMALL_BYTES, pack, unpack
from danlu.transfer.api import Api
from danlu.transfer.batches import in_batches
from danlu.transfer.carrier import body_of
from danlu.transfer.crew import Crew
from danlu.transfer.errors import Changed, Damaged, Refused
from danlu.transfer.file_download import RemoteFile, fetch_file
from danlu.transfer.local_files import Opener, body_of_file, local_problems, make_folder, open_file, write_whole
from danlu.transfer.node_cache import NodeCache
from danlu.transfer.object_answers import About
from danlu.transfer.progress import Told, quiet

NUM_PARALLEL = 4
MAX_ROUNDS = 3


class Blob(NamedTuple):
    """Bytes that are named by their digest."""

    sha256: str
    size: int


def send_tree(
    api: Api,
    tree: Mapping[str, Any],
    files: Mapping[str, str],
    *,
    project: Optional[str] = None,
    opened: Opener = open_file,
) -> Optional[str]:
    """Bring a tree to a project, or the default one, and return its digest; None when files are missing afterwards.

    `files` is digest -> a file with these bytes. Raise Changed when one has others, Refused, ServerAway, LocalProblem,
    and Damaged when the server asks for a file that is not in the tree.
    """
    sizes = {str(file["sha256"]): int(file["size"]) for file in tree["files"]}
    query = "" if project is None else f"?project={quote(project, safe='')}"
    for _ in range(MAX_ROUNDS):
        answer = api.post(f"/trees{query}", tree)
        if not answer["missing"]:
            return str(answer["digest"])
        unknown = [digest for digest in answer["missing"] if digest not in files]
        if unknown:
            raise Damaged(f"the server asks for {unknown[0]!r:.80}, which is no file of this folder")
        _send_blobs(api, [Blob(digest, sizes[digest]) for digest in answer["missing"]], files, query, opened)
    return None


def _send_blobs(api: Api, blobs: Iterable[Blob], files: Mapping[str, str], query: str, opened: Opener) -> None:
    def send(batch: list[Blob]) -> None:
        own = api.until(crew.has_failed)
        if len(batch) > 1:
            data = [_read_small(files[blob.sha256], blob, opened) for blob in batch]
            own.send("POST", f"/blobs/batches{query}", body_of(pack([blob._asdict() for blob in batch], data)))
            return
        (blob,) = batch
        path = files[blob.sha256]
        with opened(path) as descriptor:
            try:
                own.send("PUT", f"/blobs/{blob.sha256}{query}", body_of_file(path, descriptor, 0, blob.size))
            except Refused as refused:
                raise Changed(path) if refused.error == "BadChecksum" else refused from refused

    with Crew(send, NUM_PARALLEL) as crew:
        for batch in in_batches(blobs, size=lambda blob: blob.size):
            crew.put(batch)


def _read_small(path: str, blob: Blob, opened: Opener) -> bytes:
    with opened(path) as descriptor, local_problems(path):
        data = os.read(descriptor, blob.size + 1)
    if hashlib.sha256(data).hexdigest() != blob.sha256:
        raise Changed(path)
    return data


def fetch_tree(api: Api, digest: str, files: Sequence[RemoteFile], *, cache: Optional[NodeCache] = None) -> None:
    """Bring the files of a tree to their places. Raise Refused, ServerAway, Damaged, LocalProblem."""
    for folder in {os.path.dirname(file.to) or "." for file in files}:
        make_folder(folder)
    if cache is None:
        _fetch(api, files, None, quiet)
        return
    left = list(files)

    def look() -> bool:
        left[:] = [file for file in left if not cache.copy(file)]
        return not left

    with cache.fetching(f"tree-{digest[:32]}", look) as turn:
        if not turn.is_done:
            _fetch(api, left, cache, turn.told)


def _fetch(api: Api, files: Iterable[RemoteFile], cache: Optional[NodeCache], told: Told) -> None:
    places: dict[str, list[RemoteFile]] = {}
    for file in files:
        places.setdefault(str(file.sha256), []).append(file)
    mark = uuid.uuid4().hex[:12]

    def fetch(batch: list[list[RemoteFile]]) -> None:
        own = api.until(crew.has_failed)
        if batch[0][0].size <= SMALL_BYTES:
            _fetch_small(own, {str(same[0].sha256): same for same in batch}, cache, mark)
            told("", sum(same[0].size for same in batch), True)
            return
        for file in batch[0]:
            if cache is None:
                _fetch_large(own, file, told)
            else:
                cache.place(file, partial(_fetch_large, own), told=told)

    with Crew(fetch, NUM_PARALLEL) as crew:
        for batch in in_batches(places.values(), size=lambda same: same[0].size):
            crew.put(batch)


def _fetch_large(api: Api, file: RemoteFile, told: Told) -> None:
    fetch_file(api, file, about=About(file.size, "", file.sha256), told=told)


def _fetch_small(api: Api, wanted: dict[str, list[RemoteFile]], cache: Optional[NodeCache], mark: str) -> None:
    left = list(wanted)
    while left:
        arrived = unpack_by_digest(api.fetch("POST", "/blobs/reads", {"digests": left}), wanted)
        for digest, data in arrived.items():
            if cache is not None:
                cache.put(digest, data)
            for file in wanted[digest]:
                write_whole(file.to, data, mark=mark, is_executable=file.is_executable)
        left = [digest for digest in left if digest not in arrived]


def unpack_by_digest(body: bytes, wanted: Iterable[str]) -> dict[str, memoryview]:
    """Digest -> bytes of a pack, each checked. Raise Damaged unless there is something in it that was asked for."""
    found: dict[str, memoryview] = {}
    asked = set(wanted)
    try:
        header, rest = unpack(body)
        begin = 0
        for item in header:
            digest, size = str(item["sha256"]), int(item["size"])
            data = rest[begin : begin + size]
            begin += size
            if digest not in asked or hashlib.sha256(data).hexdigest() != digest:
                raise Damaged(f"{digest[:80]} arrived with another digest; try again")
            found[digest] = data
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(f"the server answered with something that is no pack: {error}") from error
    if not found:
        raise Damaged("the server's answer contains nothing that was requested")
    return found
