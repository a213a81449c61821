"""Storing and reading trees and blobs: bytes move while no transaction is open."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.content.packs import SMALL_BYTES, pack
from danlu.errors import InvalidInput, NotAllowed, NotFound
from danlu.server.packs.operations import store_pack
from danlu.server.packs.reading import read_pack
from danlu.server.scope import project_to_use
from danlu.server.state import ServerState
from danlu.server.trees import service
from danlu.store.objects import blobs
from danlu.store.objects.base import Bytes, Writer
from danlu.store.objects.blobs import Blobs
from danlu.wire.batches import MAX_BATCH_BYTES
from danlu.wire.store import Tree, TreeOut

MAX_TREE_BYTES = 64 << 20
"""A tree has at most 100,000 files."""

NUM_READ = 64
"""How many files are read before each check whether the response is full."""


class IncomingBlob(NamedTuple):
    digest: str
    project_id: int
    writer: Writer


def begin_blob(state: ServerState, who: UserIdentity, digest: str, *, project: str | None) -> IncomingBlob:
    """Choose the project before the bytes arrive; `finish_blob` records it once they have."""
    project_id = state.database.read(project_to_use, who, project)
    return IncomingBlob(digest, project_id, state.blobs.put(digest))


def finish_blob(state: ServerState, incoming: IncomingBlob) -> None:
    state.database.write(service.own_blob, state, incoming.project_id, incoming.digest)


def put_blobs(state: ServerState, who: UserIdentity, body: Bytes, *, project: str | None) -> int:
    """Store small files of trees, each by its digest, which is checked. Return how many."""
    files = read_pack(body, min_bytes=0, max_bytes=SMALL_BYTES, max_pack_bytes=MAX_BATCH_BYTES)
    store_pack(state, files, project_of=lambda session: project_to_use(session, who, project))
    return len(files.parts)


def read_blobs(state: ServerState, who: Identity, digests: Sequence[str]) -> bytes:
    """A pack of small files: as many of them, from the first on, as a batch holds."""
    check_readable_blobs(state, who, digests)
    found: dict[str, Bytes] = {}
    total = 0
    for first in range(0, len(digests), NUM_READ):
        wanted = digests[first : first + NUM_READ]
        for digest, data in zip(wanted, state.blobs.read_many(wanted, SMALL_BYTES), strict=True):
            if data is None:
                raise NotFound(f"no blob {digest} of up to {SMALL_BYTES} bytes")
            found[digest] = data
            total += len(data)
        if total > MAX_BATCH_BYTES // 2:
            break
    return pack([{"sha256": digest, "size": len(data)} for digest, data in found.items()], found.values())


def put_tree(state: ServerState, who: UserIdentity, tree: Tree, *, project: str | None) -> TreeOut:
    """Report which files are missing; store the tree once none is."""
    with state.database.writing() as session:
        project_id = project_to_use(session, who, project)
        missing = service.adopt_files(session, state, who, project_id, tree)
    if missing:
        return TreeOut(digest=tree.digest, missing=sorted(missing))
    store_tree(state, project_id, tree)
    return TreeOut(digest=tree.digest, missing=[])


def store_tree(state: ServerState, project_id: int, tree: Tree) -> None:
    """Store a tree whose files the project has. If it is interrupted, it is as if the tree had not been sent."""
    _check_sizes(state, project_id, tree)
    state.database.write(blobs.expect, project_id, [tree.digest], state.now())
    state.blobs.put_bytes(tree.digest, tree.to_json())
    state.database.write(service.add_tree, state, project_id, tree)


def read_tree(state: ServerState, who: Identity, digest: str) -> Tree:
    """Read a tree of a visible project."""
    service.check_names_tree(who, digest)
    _find(state, service.reader_for(who, digest), digest)
    return _read(state.blobs, digest)


def check_readable_blobs(state: ServerState, who: Identity, digests: Sequence[str]) -> None:
    """Reject files that are not in visible projects; for a job, those that are not files of its code."""
    if not isinstance(who, JobIdentity):
        state.database.read(service.check_files_of_projects, service.projects_seen(who), digests)
        return
    project_id = None if who.tree is None else _find(state, who, who.tree)
    if project_id is None or who.tree is None or not set(digests) <= _digests(state.blobs, who.tree):
        if who.owner is None:
            raise NotAllowed(f"{min(digests)[:80]} is not a file of the code of {who.job_id}")
        state.database.read(service.check_files_of_projects, service.projects_seen(who.owner), digests)
        return
    state.database.read(service.check_files_of_projects, [project_id], digests)


def adopt_tree(state: ServerState, who: UserIdentity, digest: str, *, project_id: int) -> None:
    """Add a tree of another visible project to this project. Idempotent."""
    if _find(state, who, digest) == project_id or state.database.read(service.has_tree, project_id, digest):
        return
    tree = _read(state.blobs, digest)
    with state.database.writing() as session:
        if service.adopt_files(session, state, who, project_id, tree):
            raise NotFound(f"no tree {digest}")
        service.add_tree(session, state, project_id, tree)


def _find(state: ServerState, who: Identity, digest: str) -> int:
    """A visible project that has the tree. Raise NotFound when there is none."""
    found = state.database.read(service.find_tree, who, digest)
    if found is not None:
        return found
    for project_id in state.database.read(service.may_have_tree, who, digest):
        tree = _read(state.blobs, digest)
        if not state.database.read(service.missing_files, project_id, tree):
            state.database.write(blobs.add_tree, project_id, digest, state.now())
            return project_id
    raise NotFound(f"no tree {digest[:80]}")


def _read(stored: Blobs, digest: str) -> Tree:
    if stored.size(digest) > MAX_TREE_BYTES:
        raise NotFound(f"{digest[:80]} is a file, not a tree")
    try:
        return Tree.from_json(b"".join(stored.read(digest)))
    except (ValueError, TypeError) as error:
        raise NotFound(f"{digest[:80]} is a file, not a tree") from error


@lru_cache(maxsize=64)
def _digests(stored: Blobs, tree: str) -> frozenset[str]:
    """The files of a tree. A digest's content never changes, so it is read once for all of a job's fetches."""
    return frozenset(file.sha256 for file in _read(stored, tree).files)


def _check_sizes(state: ServerState, project_id: int, tree: Tree) -> None:
    known = state.database.read(blobs.sizes_of, project_id, {file.sha256 for file in tree.files})
    for file in tree.files:
        size = known.get(file.sha256)
        if size is None:
            size = state.blobs.size(file.sha256)
        if size != file.size:
            raise InvalidInput(f"{file.path}: {file.size} bytes announced, {size} bytes of that digest arrived")
