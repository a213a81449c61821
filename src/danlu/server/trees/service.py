"""The rules of trees: folders by content.

A digest says what bytes are, never whose they are. A project has the bytes that were sent to it (a row per project and
digest) and the trees all of whose files it has (another row). Only rows of visible projects count: what other projects
have does not exist for the caller.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy.orm import Session

from danlu.auth.identity import Identity, JobIdentity
from danlu.errors import Conflict, NotAllowed, NotFound, Unavailable
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.store.objects import blobs
from danlu.wire.store import Tree


def projects_seen(who: Identity) -> Collection[int] | None:
    """Ids of the projects whose trees and blobs may be read; None: all. For a job: its own project and its owner's."""
    return who.projects if isinstance(who, JobIdentity) else visible_project_ids(who)


def reader_for(who: Identity, tree: str) -> Identity:
    """The identity that reads a tree: a job itself for its own code, else its owner."""
    if isinstance(who, JobIdentity) and tree != who.tree:
        return who.owner or who
    return who


def find_tree(session: Session, who: Identity, digest: str) -> int | None:
    """A visible project that has the tree, the job's own one first; None when none is recorded."""
    found = blobs.projects_with_tree(session, digest, projects_seen(who))
    if isinstance(who, JobIdentity) and who.project_id in found:
        return who.project_id
    return next(iter(found), None)


def may_have_tree(session: Session, who: Identity, digest: str) -> Sequence[int]:
    """Visible projects that have its bytes, which may be a tree: older servers did not record trees."""
    return blobs.projects_with_blob(session, digest, projects_seen(who))


def has_tree(session: Session, project_id: int, digest: str) -> bool:
    return bool(blobs.projects_with_tree(session, digest, [project_id]))


def check_names_tree(who: Identity, digest: str) -> None:
    """Without `access: read` a job may ask for its own code only."""
    if isinstance(who, JobIdentity) and digest != who.tree and who.owner is None:
        raise NotAllowed(f"{digest[:80]} is not the code of {who.job_id}")


def missing_files(session: Session, project_id: int, tree: Tree) -> set[str]:
    """Files of a tree that the project does not have."""
    digests = {file.sha256 for file in tree.files}
    return digests - blobs.owned(session, [project_id], digests)


def adopt_files(session: Session, state: ServerState, who: Identity, project_id: int, tree: Tree) -> set[str]:
    """Add files of other visible projects to this project; return those that none of them has."""
    digests = {file.sha256 for file in tree.files}
    missing = blobs.adopt(session, project_id, digests, state.now(), among=_listed(projects_seen(who)))
    blobs.touch(session, digests - missing, state.now())
    return missing


def add_tree(session: Session, state: ServerState, project_id: int, tree: Tree) -> None:
    """Record that a project has a tree, once its bytes are stored. The project must have all of its files."""
    missing = missing_files(session, project_id, tree)
    if missing:
        raise Conflict(f"{len(missing)} files of the tree were removed by clean-up meanwhile; send it again")
    blobs.own(session, project_id, tree.digest, state.now())
    blobs.add_tree(session, project_id, tree.digest, state.now())


def own_blob(session: Session, state: ServerState, project_id: int, digest: str) -> None:
    """Record whose bytes arrived, if they still exist: clean-up may have removed them."""
    try:
        state.blobs.size(digest, session)
    except NotFound as error:
        raise Unavailable(f"{digest} was being removed by clean-up as it arrived; send it again") from error
    blobs.own(session, project_id, digest, state.now())


def check_files_of_projects(session: Session, project_ids: Collection[int] | None, digests: Sequence[str]) -> None:
    """Reject files that none of the projects has."""
    foreign = set(digests) - blobs.owned(session, _listed(project_ids), digests)
    if foreign:
        raise NotFound(f"no blob {min(foreign)[:80]}")


def _listed(project_ids: Collection[int] | None) -> list[int] | None:
    return None if project_ids is None else sorted(project_ids)
