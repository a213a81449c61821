"""The rules of trees: folders by content."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.errors import InvalidInput, NotAllowed, NotFound, Unavailable
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import ServerState
from danlu.store.objects import blobs
from danlu.store.objects.blobs import Blobs
from danlu.wire.store import Tree, TreeOut


def put_tree(session: Session, state: ServerState, who: UserIdentity, tree: Tree) -> TreeOut:
    """Say which files are missing; store the tree once none is."""
    project_id = project_to_use(session, who)
    digests = {file.sha256 for file in tree.files}
    missing = digests - blobs.owned(session, visible_project_ids(who), digests)
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
    elif not blobs.owned(session, visible_project_ids(who), [digest]):
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


def check_readable_blobs(session: Session, state: ServerState, who: Identity, digests: Sequence[str]) -> None:
    if isinstance(who, JobIdentity):
        foreign = set(digests) - (_digests(state.blobs, who.tree) if who.tree is not None else frozenset())
        if foreign:
            raise NotAllowed(f"{min(foreign)[:80]} is not a file of the code of {who.job_id}")
    else:
        foreign = set(digests) - blobs.owned(session, visible_project_ids(who), digests)
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
