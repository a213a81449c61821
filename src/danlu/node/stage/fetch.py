"""Brings the inputs of a task to its folder: each file whole or not at all."""

from __future__ import annotations

import concurrent.futures.thread
import contextlib
import hashlib
import os
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from danlu.node.task import TaskInput
from danlu.transfer.http import CHUNK_BYTES, LocalProblem, Refused, Server, quote

NUM_CONNECTIONS = 4
PARTIAL = ".partial."


class InputMissing(Exception):
    """The store has no such thing, or it is not for this job."""


class File(NamedTuple):
    """One file to fetch."""

    source: str
    """Path below the API."""

    to: str
    size_bytes: int | None
    sha256: str | None
    is_executable: bool


def fetch_all(server: Server, inputs: Sequence[TaskInput], *, say: Callable[[str], None]) -> None:
    """Fetch every input. Raise InputMissing, or what Server.patiently raises, at the first that fails."""
    for item in inputs:
        files = _files_of_item(server, item)
        say(f"{item.source}: {len(files)} files")
        try:
            for folder in {os.path.dirname(file.to) for file in files} or {item.to}:
                os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise LocalProblem(item.to, error) from error
        _fetch_files(server, files)


def _fetch_files(server: Server, files: list[File]) -> None:
    with concurrent.futures.thread.ThreadPoolExecutor(NUM_CONNECTIONS) as pool:
        running = [pool.submit(_fetch_file, server, file) for file in files]
        try:
            for done in concurrent.futures.as_completed(running):
                done.result()
        except BaseException:
            server.is_given_up.set()
            for waiting in running:
                waiting.cancel()
            raise


def _files_of_item(server: Server, item: TaskInput) -> list[File]:
    try:
        return _files_of(server, item.source, item.to)
    except InputMissing:
        if item.is_own:  # no attempt before this one left anything
            return []
        raise


def _files_of(server: Server, source: str, to: str) -> list[File]:
    if source.startswith("tree:"):
        return _files_of_tree(server, source[len("tree:") :], to)
    bucket, _, key = source[len("store://") :].partition("/")
    try:
        listed = list(_list(server, bucket, key))
    except Refused as refused:
        if refused.status in (403, 404):
            raise InputMissing(f"{source}: {refused.message}") from refused
        raise
    exact = [found for found in listed if found["key"] == key]
    below = f"{key.rstrip('/')}/".lstrip("/")
    inside = [found for found in listed if found["key"].startswith(below) and not found["key"].endswith("/")]
    if exact and not inside:
        # an object given to a folder that exists goes into it, as with cp
        target = os.path.join(to, os.path.basename(key)) if os.path.isdir(to) else to
        return [_object(bucket, exact[0], target)]
    if not inside:
        raise InputMissing(f"{source}: the store has no object and no folder of that name")
    return [_object(bucket, found, _below(to, found["key"][len(below) :])) for found in inside]


def _files_of_tree(server: Server, digest: str, to: str) -> list[File]:
    def get() -> Any:
        return server.get_json(f"/trees/{digest}")

    try:
        tree = server.patiently(f"tree {digest[:12]}", get)
    except Refused as refused:
        if refused.status in (403, 404):
            raise InputMissing(f"tree:{digest}: {refused.message}") from refused
        raise
    return [
        File(
            source=f"/blobs/{found['sha256']}",
            to=_below(to, found["path"]),
            size_bytes=found["size"],
            sha256=found["sha256"],
            is_executable=bool(found.get("is_executable")),
        )
        for found in tree["files"]
    ]


def _list(server: Server, bucket: str, prefix: str) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        query = {"prefix": prefix, "limit": "1000", **({"cursor": cursor} if cursor else {})}
        path = f"/buckets/{quote(bucket)}/objects?{urllib.parse.urlencode(query)}"

        def get(path: str = path) -> Any:
            return server.get_json(path)

        page = server.patiently(f"list of {bucket}/{prefix}", get)
        yield from page["objects"]
        cursor = page.get("next")
        if not cursor:
            return


def _object(bucket: str, found: dict[str, Any], to: str) -> File:
    path = f"/buckets/{quote(bucket)}/objects/{quote(found['key'])}"
    return File(source=path, to=to, size_bytes=found["size"], sha256=found.get("sha256"), is_executable=False)


def _fetch_file(server: Server, file: File) -> None:
    def get() -> None:
        _receive(server, file)

    try:
        server.patiently(file.source, get)
    except Refused as refused:
        if refused.status in (403, 404):
            raise InputMissing(f"{file.source}: {refused.message}") from refused
        raise


def _receive(server: Server, file: File) -> None:
    partial = os.path.join(os.path.dirname(file.to), PARTIAL + os.path.basename(file.to)[-200:])
    digest, length = hashlib.sha256(), 0
    with server.open_object(file.source) as answer:
        expected = answer.headers.get("Content-Length")
        with _writing(partial) as write:
            while True:
                piece = answer.read(CHUNK_BYTES)
                if not piece:
                    break
                digest.update(piece)
                length += len(piece)
                write(piece)
    announced = int(expected) if expected is not None else file.size_bytes
    if announced is not None and length != announced:
        raise ConnectionError(f"{length} of {announced} bytes arrived")
    if file.sha256 is not None and digest.hexdigest() != file.sha256:
        raise ConnectionError(f"the bytes that arrived are not {file.sha256[:12]}...")
    try:
        os.chmod(partial, 0o755 if file.is_executable else 0o644)
        os.replace(partial, file.to)
    except OSError as error:
        raise LocalProblem(file.to, error) from error


@contextlib.contextmanager
def _writing(path: str) -> Iterator[Callable[[bytes], None]]:
    """Open a file for writing whose problems are told from those of the network."""

    def write(piece: bytes) -> None:
        try:
            out.write(piece)
        except OSError as error:
            raise LocalProblem(path, error) from error

    try:
        out = open(path, "wb", buffering=0)  # noqa: SIM115
    except OSError as error:
        raise LocalProblem(path, error) from error
    with out:
        yield write


def _below(folder: str, path: str) -> str:
    """Join, and refuse a name that would leave the folder: the server checks them, and so do we."""
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise InputMissing(f"{path!r} is not a path below a folder")
    return os.path.join(folder, *parts)
