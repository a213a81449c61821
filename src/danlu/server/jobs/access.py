"""The rules of a job's access: who may grant it, and what the owner is told about it."""

from __future__ import annotations

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.server.invalid import bad_spec
from danlu.spec.job import JobAccess, JobSpec


def check_job_access(who: UserIdentity, spec: JobSpec) -> None:
    """Reject access that the user cannot grant: a job cannot pass on its own, an API key none that outlives it."""
    if spec.access is JobAccess.OWN:
        return
    if who.job is not None:
        told = f"expected own, got {str(spec.access)!r}: {who.job.job_id} is a job and cannot grant access"
        raise bad_spec("access", told)
    rights.check_lasting(who, f"a job with `access: {spec.access}`")


def access_notes(who: UserIdentity, spec: JobSpec, project: str) -> list[str]:
    """Notes for the owner about what they allow the job to do."""
    if spec.access is JobAccess.READ:
        return [f"access: read; until its end the job reads what {who.name} may read"]
    if spec.access is JobAccess.OWNER:
        return [
            f"access: owner; until its end the job reads what {who.name} may read, and in project {project} it submits "
            f"jobs and changes data as {who.name} would as a member"
        ]
    return []
