"""The identity of a job: what its token allows now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy.orm import Session

from danlu.auth import secrets
from danlu.auth.identity import ActingJob, JobIdentity, Origin, Role, StoreGrant, UserIdentity
from danlu.errors import NotSignedIn
from danlu.launch.layout import CHECKPOINTS
from danlu.launch.sources import sources_of
from danlu.spec.job import JobAccess, stored_job
from danlu.spec.paths import ARTIFACT, SCHEME, parse_store_path
from danlu.store.queries import attempts, jobs, people, projects
from danlu.store.sql.tables import AttemptRow, JobRow, UserRow

_OVER = "the job's token is no longer valid: its attempt has ended"


def job_identity(session: Session, token: str) -> JobIdentity:
    """The attempt of a token, and what the job may use now. Raise NotSignedIn when the attempt is over."""
    return _identity(session, attempts.by_token(session, secrets.digest(token)))


def of_attempt(session: Session, job_id: str, number: int) -> JobIdentity:
    """The same for an attempt whose token was checked a while ago."""
    attempt = attempts.get_attempt(session, job_id, number)
    return _identity(session, attempt if attempt is not None and attempt.token_digest is not None else None)


def with_origin(who: JobIdentity, origin: Origin) -> JobIdentity:
    """Set the origin of a job's request. What the job does for its owner is recorded with its id."""
    owner = who.owner
    if owner is not None:
        owner = replace(owner, origin=replace(origin, via=f"job {who.job_id}/{who.attempt}"))
    return replace(who, origin=replace(origin, via="token"), owner=owner)


def owner_for_job(session: Session, job: JobRow, attempt: int) -> UserIdentity | None:
    """The owner, with what a job may do for them: write in its own project if they may, read in their other projects.

    Never more than the owner's own current rights, never as an admin or a project owner (decision 0170).
    """
    user = people.get_user(session, job.owner_id)
    if user is None or not user.is_active:
        return None
    roles = {one: _confined(role, one == job.project_id) for one, role in _roles(session, user, job).items()}
    return UserIdentity(
        user_id=user.id,
        name=user.name,
        is_admin=False,
        roles=roles,
        default_project=job.project_id,
        archived=projects.archived_ids(session),
        origin=Origin(via=f"job {job.id}/{attempt}"),
        job=ActingJob(job.id, attempt),
    )


def acting_now(session: Session, who: UserIdentity, by: ActingJob) -> UserIdentity:
    """The same owner with current rights, within the projects that they had. Raise NotSignedIn when those are not
    valid."""
    of_attempt(session, by.job_id, by.attempt)
    job = jobs.get_job(session, by.job_id)
    owner = None if job is None else owner_for_job(session, job, by.attempt)
    if owner is None:
        raise NotSignedIn("the account of the job's owner was disabled meanwhile; nothing was changed")
    roles = {project_id: role for project_id, role in owner.roles.items() if project_id in who.roles}
    return replace(owner, roles=roles, origin=who.origin)


def _roles(session: Session, user: UserRow, job: JobRow) -> dict[int, Role]:
    found = {project_id: Role(role) for project_id, role in people.roles_of(session, user.id).items()}
    if user.is_admin:  # admins may use every project; their jobs only their own
        found.setdefault(job.project_id, Role.MEMBER)
    return found


def _confined(role: Role, is_own_project: bool) -> Role:
    return Role.MEMBER if is_own_project and role in (Role.OWNER, Role.MEMBER) else Role.VIEWER


def _identity(session: Session, attempt: AttemptRow | None) -> JobIdentity:
    job = jobs.get_job(session, attempt.job_id) if attempt is not None else None
    if attempt is None or job is None:
        raise NotSignedIn(_OVER)
    spec, ids = stored_job(job.spec), job.bucket_ids or {}
    places = sources_of(spec, ids)
    reads = [f"{job.output}{CHECKPOINTS}", *(place for place in places.values() if place.startswith(SCHEME))]
    if spec.code is not None and spec.code.store:
        reads.append(spec.code.store)
    return JobIdentity(
        job_id=job.id,
        attempt=attempt.number,
        project_id=job.project_id,
        reads=tuple(_grant(path, ids) for path in reads),
        tree=spec.code.tree if spec.code is not None else None,
        writes=_grant(job.output, ids),
        artifacts={name: place[len(ARTIFACT) :] for name, place in places.items() if place.startswith(ARTIFACT)},
        owner_id=job.owner_id,
        projects=_projects_of_job(session, job),
        access=spec.access,
        owner=owner_for_job(session, job, attempt.number) if spec.access is not JobAccess.OWN else None,
    )


def _grant(path: str, bucket_ids: Mapping[str, str]) -> StoreGrant:
    return StoreGrant(path, bucket_ids.get(parse_store_path(path).bucket, ""))


def _projects_of_job(session: Session, job: JobRow) -> frozenset[int] | None:
    """The job's own project, and those that its owner sees now; None: all. Jobs of a disabled owner continue."""
    owner = people.get_user(session, job.owner_id)
    if owner is not None and owner.is_admin:
        return None
    return frozenset({job.project_id, *people.roles_of(session, job.owner_id)})
