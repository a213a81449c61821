"""The rules of artifacts that are there: find, change, connect, read, delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.content.names import begins_artifact_id, check_alias, is_artifact_id, parse_named
from danlu.errors import Conflict, NotAllowed, NotFound
from danlu.server.artifacts.view import artifacts_out, versions_out
from danlu.server.audit.service import record_action
from danlu.server.invalid import bad_field
from danlu.server.paging import cut
from danlu.server.runs import service as runs
from danlu.server.scope import find_project, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.flow import NodeKind, NodeRef, Relation, run_node
from danlu.spec.job import JobAccess
from danlu.spec.paths import ARTIFACT
from danlu.store.metrics.decode import clean
from danlu.store.objects import blobs
from danlu.store.queries import artifacts, flow, models, people
from danlu.store.sql.artifact_tables import ArtifactRow, ArtifactVersionRow
from danlu.wire.artifacts import (
    MAX_PACK_BYTES,
    ArtifactOut,
    ChangeArtifact,
    ChangeVersion,
    LinkKind,
    LinkRun,
    VersionOut,
)
from danlu.wire.base import Page

MAX_VERSIONS = 100_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which artifacts are asked for."""

    project: str | None = None
    prefix: str = ""
    label: str | None = None


def list_artifacts(
    session: Session, who: UserIdentity, wanted: Wanted, *, before: int | None, limit: int
) -> Page[ArtifactOut]:
    """Newest first, each with its newest version."""
    of = visible_project_ids(who) if wanted.project is None else [find_project(session, who, wanted.project).id]
    among = artifacts.ArtifactFilter(project_ids=of, prefix=wanted.prefix, label=wanted.label)
    found = artifacts.list_artifacts(session, among, before=before, limit=limit + 1)
    rows, after = cut(found, limit, lambda row: str(row.number))
    return Page(items=artifacts_out(session, rows), next=after)


def list_versions(
    session: Session, who: UserIdentity, name: str, project: str | None, *, before: int | None, limit: int
) -> Page[VersionOut]:
    """The versions of an artifact, newest first."""
    artifact = find_artifact(session, who, name, project)
    found = artifacts.list_versions(session, artifact.number, before=before, limit=limit + 1)
    rows, after = cut(found, limit, lambda row: str(row.version))
    return Page(items=versions_out(session, artifact, rows), next=after)


def find_named(session: Session, who: UserIdentity, text: str, project: str | None) -> ArtifactVersionRow:
    """The version of that id or name, or the only one whose id begins so. Without a project, of the one project of
    yours that has the name.
    """
    if is_artifact_id(text):
        return find(session, who, text)
    if begins_artifact_id(text) and not artifacts.artifacts_named(session, visible_project_ids(who), text):
        return _by_prefix(session, who, text)
    try:
        wanted = parse_named(text)
    except ValueError as error:
        raise bad_field("ref", str(error)) from error
    artifact = find_artifact(session, who, wanted.name, project)
    if wanted.alias is not None:
        row = next(iter(artifacts.with_alias(session, artifact.number, wanted.alias)), None)
    elif wanted.version is not None:
        row = artifacts.version_of(session, artifact.number, wanted.version)
    else:
        row = artifacts.latest_of(session, [artifact.number]).get(artifact.number)
    if row is None:
        raise NotFound(f"no version {text!r}; `danlu artifacts versions {wanted.name}` lists them")
    return row


def _by_prefix(session: Session, who: UserIdentity, prefix: str) -> ArtifactVersionRow:
    found = artifacts.versions_by_prefix(session, prefix, visible_project_ids(who), limit=2)
    if len(found) > 1:
        raise Conflict(f"several artifacts have ids that begin with {prefix!r}; give more of it")
    if not found:
        raise NotFound(f"no artifact {prefix!r}; `danlu artifacts list` shows yours")
    return found[0]


def find_readable(session: Session, who: Identity, text: str, project: str | None) -> ArtifactVersionRow:
    """The same for a job too: what its job file names, what it made, and with `access: read` what its owner reads."""
    if not isinstance(who, JobIdentity):
        return find_named(session, who, text, project)
    for version_id in {who.artifacts.get(f"{ARTIFACT}{text}", text), *who.artifacts.values()}:
        row = artifacts.get_version(session, version_id)
        if row is not None and is_visible(session, who, row) and _is_called(session, row, who=who, text=text):
            return row
    try:
        owner = rights.check_acts(who, JobAccess.READ)
    except NotAllowed as error:
        raise NotFound(f"no artifact {text!r} among what this job reads and made; {error.message}") from error
    return find_named(session, owner, text, project)


def find_artifact(session: Session, who: UserIdentity, name: str, project: str | None) -> ArtifactRow:
    found = artifacts.artifacts_named(session, visible_project_ids(who), name)
    names = people.projects_by_id(session)
    if project is not None:
        found = [row for row in found if names[row.project_id] == project]
    if not found:
        raise NotFound(f"no artifact {name!r}; `danlu artifacts list` shows yours")
    if len(found) > 1:
        told = f"{name!r} is in {', '.join(names[row.project_id] for row in found)}; name the project"
        raise Conflict(told)
    return found[0]


def find(session: Session, who: Identity, version_id: str) -> ArtifactVersionRow:
    row = artifacts.get_version(session, version_id)
    if row is None or not is_visible(session, who, row):
        raise NotFound(f"no artifact {version_id[:60]!r}; `danlu artifacts list` shows yours")
    return row


def find_to_change(session: Session, who: Identity, version_id: str) -> ArtifactVersionRow:
    row = find(session, who, version_id)
    if not _can_change(session, who, row):
        raise NotAllowed(f"you may not change {version_id}; ask its owner or an owner of its project")
    return row


def check_visible(session: Session, who: Identity, row: ArtifactVersionRow) -> None:
    """Refuse an id that is taken by something of others."""
    if not is_visible(session, who, row):
        raise Conflict(f"the id {row.id} is taken by another upload; use a new id")


def is_own(who: Identity, *, owner_id: int, job_id: str | None) -> bool:
    """Whether an upload is of the one who asks."""
    if isinstance(who, JobIdentity):
        return job_id == who.job_id
    return owner_id == who.user_id


def change_artifact(
    session: Session, state: ServerState, who: UserIdentity, name: str, project: str | None, body: ChangeArtifact
) -> ArtifactRow:
    row = find_artifact(session, who, name, project)
    if not rights.can_use_project(who, row.project_id):
        raise NotAllowed(f"you may view {name!r} but not change it; ask an owner of its project")
    row.labels = row.labels if body.labels is None else clean(body.labels)
    row.description = row.description if body.description is None else clean(body.description)
    record_action(session, who, Action.ARTIFACT_CHANGE, f"artifact/{name}", at=state.now(), project_id=row.project_id)
    return row


def change_version(
    session: Session, state: ServerState, who: UserIdentity, version_id: str, body: ChangeVersion
) -> ArtifactVersionRow:
    row = find_to_change(session, who, version_id)
    row.labels = row.labels if body.labels is None else clean(body.labels)
    row.description = row.description if body.description is None else clean(body.description)
    if body.aliases is not None:
        set_aliases(session, row, body.aliases)
    _record(session, state, who, Action.ARTIFACT_CHANGE, row)
    return row


def set_aliases(session: Session, row: ArtifactVersionRow, aliases: Sequence[str]) -> None:
    """Give a version these aliases. Another version that had one of them has it no more."""
    for alias in aliases:
        try:
            check_alias(alias)
        except ValueError as error:
            raise bad_field("aliases", str(error)) from error
        for other in artifacts.with_alias(session, row.artifact, alias):
            other.aliases = [one for one in other.aliases if one != alias]
    row.aliases = sorted(set(aliases))


def link(session: Session, state: ServerState, who: Identity, version_id: str, body: LinkRun) -> ArtifactVersionRow:
    """Note that a run has read or made a version. Quiet when that is known."""
    row = find(session, who, version_id)
    run = runs.find_to_change(session, who, body.run)
    now, project_id = state.now(), _artifact(session, row).project_id
    here, there = node_of(row), run_node(run.id)
    flow.node(session, there, project_id=run.project_id, label=run.name, at=now)
    flow.node(session, here, project_id=project_id, label=_title(session, row), at=now)
    if body.kind is LinkKind.INPUT:
        flow.connect(session, here, there, Relation.INPUT, now)
    else:
        flow.connect(session, there, here, Relation.OUTPUT, now)
        if row.run_id is None and _can_change(session, who, row):
            row.run_id = run.id
    record_action(
        session,
        who,
        Action.ARTIFACT_LINK,
        f"artifact/{row.id}",
        at=now,
        project_id=project_id,
        run=run.id,
        kind=body.kind.value,
    )
    return row


def chunks_for_a_pack(session: Session, who: Identity, version_id: str, digests: Sequence[str]) -> list[str]:
    """As many of these chunks, from the first on, as a pack holds. Raise NotFound for one that is not the project's."""
    row = find(session, who, version_id)
    sizes = blobs.known_sizes(session, _artifact(session, row).project_id, digests)
    wanted: list[str] = []
    total = 0
    for digest in digests:
        if digest not in sizes:
            raise NotFound(f"no chunk {digest[:80]!r} of {version_id}")
        total += sizes[digest]
        if wanted and total > MAX_PACK_BYTES:
            break
        wanted.append(digest)
    return wanted


def versions_to_delete(
    session: Session, who: UserIdentity, name: str, project: str | None
) -> Sequence[ArtifactVersionRow]:
    """All versions of an artifact, if one may delete every one of them."""
    artifact = find_artifact(session, who, name, project)
    check_deletable(session, who, artifact)
    return artifacts.list_versions(session, artifact.number, before=None, limit=MAX_VERSIONS)


def check_deletable(session: Session, who: Identity, artifact: ArtifactRow) -> None:
    """Refuse unless one may delete every version of it."""
    for row in artifacts.list_versions(session, artifact.number, before=None, limit=MAX_VERSIONS):
        if not _can_change(session, who, row):
            raise NotAllowed(f"you may not delete {artifact.name}:{row.version}; ask an owner of its project")


def remove(session: Session, state: ServerState, who: Identity, version_id: str, digests: set[str]) -> None:
    """Forget a version. What only it has kept is cleaned away later; its place in the data flow stays."""
    row = artifacts.get_version(session, version_id)
    if row is None:
        return
    used = next(iter(models.of_artifact(session, row.id)), None)
    if used is not None:
        model = f"{used[1].name}:{used[0].version}"
        raise Conflict(f"{_title(session, row)} has the files of model {model}; delete that first, or keep both")
    _record(session, state, who, Action.ARTIFACT_DELETE, row)
    blobs.refer(session, _artifact(session, row).project_id, digests, -1)
    flow.bury(session, node_of(row), state.now())
    artifacts.delete_version(session, row)


def node_of(row: ArtifactVersionRow) -> NodeRef:
    return NodeRef(NodeKind.ARTIFACT, row.id)


def _artifact(session: Session, row: ArtifactVersionRow) -> ArtifactRow:
    found = artifacts.get_artifact(session, row.artifact)
    assert found is not None  # a foreign key
    return found


def _title(session: Session, row: ArtifactVersionRow) -> str:
    return f"{_artifact(session, row).name}:{row.version}"


def _is_called(session: Session, row: ArtifactVersionRow, *, who: JobIdentity, text: str) -> bool:
    """Whether a job means this version: by its id, as its job file has it, or by its name and number."""
    return row.id in (text, who.artifacts.get(f"{ARTIFACT}{text}")) or text == _title(session, row)


def is_visible(session: Session, who: Identity, row: ArtifactVersionRow) -> bool:
    project_id = _artifact(session, row).project_id
    return rights.can_read_artifact(who, row.id, project_id=project_id, job_id=row.job_id)


def _can_change(session: Session, who: Identity, row: ArtifactVersionRow) -> bool:
    project_id = _artifact(session, row).project_id
    return rights.can_change_run(who, project_id=project_id, owner_id=row.owner_id, job_id=row.job_id)


def _record(session: Session, state: ServerState, who: Identity, action: Action, row: ArtifactVersionRow) -> None:
    project_id = _artifact(session, row).project_id
    title = _title(session, row)
    record_action(session, who, action, f"artifact/{row.id}", at=state.now(), project_id=project_id, name=title)
