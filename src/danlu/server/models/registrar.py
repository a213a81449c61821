"""The user for whom a model is registered: the caller, or the owner of a job."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.errors import NotAllowed
from danlu.server.jobs.identity import owner_for_job
from danlu.spec.job import JobAccess
from danlu.store.queries import artifacts, jobs, people
from danlu.wire.models import RegisterModel


def registrar(session: Session, who: Identity, body: RegisterModel) -> UserIdentity:
    """The user whose rights apply. Without `access: owner` a job registers what it created itself, in
    its own project."""
    if not isinstance(who, JobIdentity):
        return who
    actor = rights.actor_of(who)
    if actor is not None:
        return actor
    _check_own(session, who, body)
    job = jobs.get_job(session, who.job_id)
    owner = None if job is None else owner_for_job(session, job, who.attempt)
    if owner is None:
        raise NotAllowed(f"the account of the owner of {who.job_id} is disabled; nothing was registered")
    mine = {project_id: role for project_id, role in owner.roles.items() if project_id == who.project_id}
    return replace(owner, roles=mine, origin=replace(who.origin, via=owner.origin.via))


def _check_own(session: Session, who: JobIdentity, body: RegisterModel) -> None:
    project = people.projects_by_id(session).get(who.project_id)
    made = artifacts.get_version(session, body.artifact) if body.artifact is not None else None
    is_own = body.job == who.job_id or (made is not None and made.job_id == who.job_id)
    needs = [
        *([] if is_own else [f"expected {who.job_id} or the id of an artifact that it made as the source"]),
        *([] if body.project in (None, project) else [f"project: expected {project!r}, got {body.project!r}"]),
        *([] if body.to is None else ["to: expected none"]),
        *([] if body.run is None else ["run: expected none"]),
        *([] if not body.aliases else ["aliases: expected none"]),
    ]
    if needs:
        told = "; ".join(needs)
        raise NotAllowed(
            f"{who.job_id} has `access: {who.access}` and registers models from itself only: {told}; more needs "
            f"`access: {JobAccess.OWNER}` in its job file"
        )
