"""The rules of trees: folders by content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.content.packs import SMALL_BYTES, pack
from danlu.errors import InvalidInput, NotAllowed, NotFound, Unavailable
from danlu.server.packs import read_pack
from danlu.server.people.service import default_project, project_ids_for
from danlu.server.state import ServerState
from danlu.store.objects import blobs
from danlu.store.objects.blobs import Blobs
from danlu.wire.batches import MAX_BATCH_BYTES
from danlu.wire.store import Tree, TreeOut

NUM_READ = 64
"""How many files are read before it is looked whether the answer is full."""


def put_tree(session: Session, state: ServerState, who: UserIdentity, tree: Tree) -> TreeOut:
    """Say which files are missing; store the tree once none is."""
    project_id = default_project(session, who)
    digests = {file.sha256 for file in tree.files}
    missing = digests - blobs.owned(session, project_ids_for(who), digests)
    blobs.touch(session, digests - missing, state.now())
    if missing:
        return TreeOut(digest=tree.digest, missing=sorted(missing))
    _check_sizes(state, tree)
    state.blobs.put_bytes(tree.digest, tree.to_json())
    blobs.own(session, project_id, tree.digest, state.now())
    return TreeOut(digest=tree.digest, missing=[])


def readable_tree(session: Session, state: ServerState, who: Identity, digest: str) -> Tree:
    if isinstance(who, JobIdentity):
        if digest != who.tree:
            raise NotAllowed(f"{digest} is not the code of {who.job_id}")
    elif not blobs.owned(session, project_ids_for(who), [digest]):
        raise NotFound(f"no tree {digest}")
    try:
        return Tree.from_json(b"".join(state.blobs.read(digest)))
    except ValueError as error:
        raise NotFound(f"{digest} is a file, not a tree") from error


def own_blob(session: Session, state: ServerState, project_id: int, digest: str) -> None:
    """Note whose bytes arrived, if they are still there: cleaning up may have come in between."""
    try:
        state.blobs.size(digest)
    except NotFound as error:
        raise Unavailable(f"{digest} was being cleaned away as it arrived; send it again") from error
    blobs.own(session, project_id, digest, state.now())


def put_blobs(state: ServerState, who: UserIdentity, body: bytes) -> int:
    """Store small files of trees, each by its digest, which is checked. Return how many."""
    files = read_pack(body, min_bytes=0, max_bytes=SMALL_BYTES, max_pack_bytes=MAX_BATCH_BYTES)
    with state.database.writing() as session:
        project_id = default_project(session, who)
        blobs.expect(session, project_id, files, state.now())
    problems = state.blobs.put_many(list(files.items()))
    stored = {digest: None for digest, problem in zip(files, problems, strict=True) if problem is None}
    with state.database.writing() as session:
        blobs.own_all(session, project_id, stored, state.now())
    for problem in problems:
        if problem is not None:
            raise problem
    return len(files)


def read_blobs(state: ServerState, who: Identity, digests: Sequence[str]) -> bytes:
    """A pack of small files: as many of them, from the first on, as a batch holds."""
    with state.database.reading() as session:
        check_readable_blobs(session, state, who, digests)
    found: dict[str, bytes] = {}
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


def check_readable_blobs(session: Session, state: ServerState, who: Identity, digests: Sequence[str]) -> None:
    if isinstance(who, JobIdentity):
        foreign = set(digests) - (_digests(state.blobs, who.tree) if who.tree is not None else frozenset())
        if foreign:
            raise NotAllowed(f"{min(foreign)[:80]} is not a file of the code of {who.job_id}")
    else:
        foreign = set(digests) - blobs.owned(session, project_ids_for(who), digests)
        if foreign:
            raise NotFound(f"no blob {min(foreign)[:80]}")


@lru_cache(maxsize=64)
def _digests(stored: Blobs, tree: str) -> frozenset[str]:
    """The files of a tree. A digest's content never changes, so it is read once for all of a job's fetches."""
    return frozenset(file.sha256 for file in Tree.from_json(b"".join(stored.read(tree))).files)


def _check_sizes(state: ServerState, tree: Tree) -> None:
    for file in tree.files:
        size = state.blobs.size(file.sha256)
        if size != file.size:
            raise InvalidInput(f"{file.path}: {file.size} bytes announced, {size} bytes of that digest arrived")
