"""What a user or a job may do. Pure decisions; what they may not see is reported as not found."""

from __future__ import annotations

from typing import NamedTuple

from danlu.auth.identity import Identity, JobIdentity, Role, StoreGrant, UserIdentity
from danlu.errors import NotAllowed, NotFound
from danlu.spec.job import JobAccess
from danlu.spec.paths import StorePath, parse_store_path

_WRITERS = {Role.OWNER, Role.MEMBER}


def check_admin(who: UserIdentity, told: str = "only admins may do this") -> None:
    if not who.is_admin:
        raise NotAllowed(told)


def reader_of(who: Identity) -> UserIdentity | None:
    """The user whose rights apply to reads beyond a job's own data: the caller, or a job's owner if its access allows
    it."""
    return who.owner if isinstance(who, JobIdentity) else who


def actor_of(who: Identity) -> UserIdentity | None:
    """The user whose rights apply to changes beyond a job's own data."""
    if isinstance(who, JobIdentity):
        return who.owner if who.access is JobAccess.OWNER else None
    return who


def check_acts(who: JobIdentity, least: JobAccess) -> UserIdentity:
    """Return the owner that the job acts for. Raise NotAllowed when the job's access is below `least`."""
    found = reader_of(who) if least is JobAccess.READ else actor_of(who)
    if found is not None:
        return found
    if who.access in (least, JobAccess.OWNER):
        raise NotAllowed(f"{who.job_id} has `access: {who.access}`, and the account of its owner is disabled")
    raise NotAllowed(
        f"{who.job_id} has `access: {who.access}`: it reads its inputs, writes its output and records its own runs and "
        f"artifacts; this needs `access: {least}` in its job file"
    )


def can_see_project(who: UserIdentity, project_id: int) -> bool:
    return who.is_admin or project_id in who.roles


def can_use_project(who: UserIdentity, project_id: int) -> bool:
    """Whether the user may add to it: jobs, files, buckets."""
    return project_id not in who.archived and (who.is_admin or who.roles.get(project_id) in _WRITERS)


def can_own_project(who: UserIdentity, project_id: int) -> bool:
    """Whether the user may manage it: members, name, buckets, deletion. Includes archived projects, so that they can be
    restored."""
    return who.is_admin or who.roles.get(project_id) is Role.OWNER


def can_change_job(who: UserIdentity, *, project_id: int, owner_id: int) -> bool:
    """Users change their own jobs; project owners change all jobs of the project."""
    if project_id in who.archived:
        return False
    return can_own_project(who, project_id) or (owner_id == who.user_id and can_use_project(who, project_id))


def can_see_saved(who: UserIdentity, *, project_id: int, owner_id: int, is_shared: bool) -> bool:
    """Templates and views in projects that the user sees: their own and shared ones."""
    return can_see_project(who, project_id) and (is_shared or owner_id == who.user_id)


def can_see_run(who: Identity, *, project_id: int, job_id: str | None) -> bool:
    """Members of the project see its runs; a job sees those it created."""
    if isinstance(who, JobIdentity) and job_id == who.job_id:
        return True
    reader = reader_of(who)
    return reader is not None and can_see_project(reader, project_id)


def can_read_artifact(who: Identity, version_id: str, *, project_id: int, job_id: str | None) -> bool:
    """As for runs. A job also reads the versions that its job file names, while its owner sees their project."""
    if isinstance(who, JobIdentity) and version_id in who.artifacts.values():
        return who.projects is None or project_id in who.projects
    return can_see_run(who, project_id=project_id, job_id=job_id)


def can_change_run(who: Identity, *, project_id: int, owner_id: int, job_id: str | None) -> bool:
    """As for jobs; a job also changes the runs it created."""
    if isinstance(who, JobIdentity) and job_id == who.job_id:
        return True
    actor = actor_of(who)
    return actor is not None and can_change_job(actor, project_id=project_id, owner_id=owner_id)


class Bucket(NamedTuple):
    """The bucket that rights refer to: identified by its row, never by its name, which can be reused."""

    id: str
    project_id: int


def check_read_object(who: Identity, path: StorePath, bucket: Bucket | None) -> None:
    """`bucket` is the one that has the path's name now; None when there is none. `path` may be a prefix."""
    if is_input(who, path, bucket):
        return
    reader = reader_of(who)
    if reader is None:
        assert isinstance(who, JobIdentity)
        raise NotAllowed(f"{path} is not an input of {who.job_id}; without `access: read` a job reads those only")
    if bucket is None or not can_see_project(reader, bucket.project_id):
        raise NotFound(f"no bucket {path.bucket!r}; `danlu store ls` shows yours")


def is_input(who: Identity, path: StorePath, bucket: Bucket | None) -> bool:
    """Whether a job reads one of its inputs."""
    return isinstance(who, JobIdentity) and any(_is_granted(who, grant, path, bucket) for grant in who.reads)


def is_output(who: Identity, path: StorePath, bucket: Bucket | None) -> bool:
    """Whether a job writes below its output."""
    return isinstance(who, JobIdentity) and _is_granted(who, who.writes, path, bucket)


def can_see_key(who: Identity, path: StorePath) -> bool:
    """Whether a listed key may be shown: a list by prefix also finds keys next to the input."""
    return not isinstance(who, JobIdentity) or any(_is_below(path, parse_store_path(one.path)) for one in who.reads)


def check_write_object(who: Identity, path: StorePath, bucket: Bucket | None) -> None:
    if is_output(who, path, bucket):
        return
    actor = actor_of(who)
    if actor is None:
        assert isinstance(who, JobIdentity)
        raise NotAllowed(f"{path} is not below {who.writes.path}; without `access: owner` a job writes there only")
    check_read_object(actor, path, bucket)
    if bucket is not None and bucket.project_id in actor.archived:
        raise NotAllowed(f"the project of bucket {path.bucket!r} is archived; an owner can restore it")
    if bucket is None or not can_use_project(actor, bucket.project_id):
        raise NotAllowed(f"you may view bucket {path.bucket!r} but not change it; ask an owner of its project")


def check_lasting(who: UserIdentity, what: str) -> None:
    """Reject what would outlive the API key of the request: a key must not extend its own lifetime."""
    if who.key_ends_at is not None:
        raise NotAllowed(
            f"{what} outlives this API key, which expires on {who.key_ends_at:%Y-%m-%d}; sign in, or use a key "
            "that does not expire"
        )


def _is_granted(who: JobIdentity, grant: StoreGrant, path: StorePath, bucket: Bucket | None) -> bool:
    """Whether the bucket is still the same one, the owner sees its project, and the path is inside the granted one."""
    if bucket is None or not grant.bucket_id or bucket.id != grant.bucket_id:
        return False
    if who.projects is not None and bucket.project_id not in who.projects:
        return False
    return _is_below(path, parse_store_path(grant.path))


def _is_below(path: StorePath, granted: StorePath) -> bool:
    if path.bucket != granted.bucket:
        return False
    top = granted.key.rstrip("/")
    return not top or path.key.rstrip("/") == top or path.key.startswith(f"{top}/")
