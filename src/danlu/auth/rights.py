"""What somebody may do. Pure decisions; what is not yours to see does not exist for you."""

from __future__ import annotations

from danlu.auth.identity import Identity, JobIdentity, Role, UserIdentity
from danlu.errors import NotAllowed, NotFound
from danlu.spec.paths import StorePath, parse_store_path

_WRITERS = {Role.OWNER, Role.MEMBER}


def check_admin(who: UserIdentity, told: str = "this is for admins") -> None:
    if not who.is_admin:
        raise NotAllowed(told)


def can_see_project(who: UserIdentity, project_id: int) -> bool:
    return who.is_admin or project_id in who.roles


def can_use_project(who: UserIdentity, project_id: int) -> bool:
    """Whether one may add to it: jobs, files, buckets."""
    return project_id not in who.archived and (who.is_admin or who.roles.get(project_id) in _WRITERS)


def can_own_project(who: UserIdentity, project_id: int) -> bool:
    """Whether one decides about it: members, name, buckets, its end. An archived one too, so that it can come back."""
    return who.is_admin or who.roles.get(project_id) is Role.OWNER


def can_change_job(who: UserIdentity, *, project_id: int, owner_id: int) -> bool:
    """Own jobs, or any of a project that one owns."""
    if project_id in who.archived:
        return False
    return can_own_project(who, project_id) or (owner_id == who.user_id and can_use_project(who, project_id))


def can_see_run(who: Identity, *, project_id: int, job_id: str | None) -> bool:
    """Members of the project; a job, what it has made itself."""
    if isinstance(who, JobIdentity):
        return job_id == who.job_id
    return can_see_project(who, project_id)


def can_change_run(who: Identity, *, project_id: int, owner_id: int, job_id: str | None) -> bool:
    """Own runs, or any of a project that one owns; a job, what it has made itself."""
    if isinstance(who, JobIdentity):
        return job_id == who.job_id
    return can_change_job(who, project_id=project_id, owner_id=owner_id)


def check_read_object(who: Identity, path: StorePath, project_id: int | None) -> None:
    """`project_id` is the bucket's; None when there is no such bucket. `path` may be a prefix that is listed."""
    if isinstance(who, JobIdentity):
        if not any(_is_below(path, parse_store_path(granted)) for granted in who.reads):
            raise NotAllowed(f"{path} is not an input of {who.job_id}; a job may read its data and code only")
        return
    if project_id is None or not can_see_project(who, project_id):
        raise NotFound(f"no bucket {path.bucket!r}; `danlu store ls` shows yours")


def can_see_key(who: Identity, path: StorePath) -> bool:
    """Whether a key of a list that somebody may ask for is for them: a list by prefix finds neighbours as well."""
    return not isinstance(who, JobIdentity) or any(_is_below(path, parse_store_path(text)) for text in who.reads)


def check_write_object(who: Identity, path: StorePath, project_id: int | None) -> None:
    if isinstance(who, JobIdentity):
        if not _is_below(path, parse_store_path(who.writes)):
            raise NotAllowed(f"{path} is not below {who.writes}; a job may write its own output only")
        return
    check_read_object(who, path, project_id)
    if project_id in who.archived:
        raise NotAllowed(f"the project of bucket {path.bucket!r} is archived; an owner can bring it back")
    if project_id is None or not can_use_project(who, project_id):
        raise NotAllowed(f"you may look at bucket {path.bucket!r} but not change it; ask an owner of its project")


def _is_below(path: StorePath, granted: StorePath) -> bool:
    if path.bucket != granted.bucket:
        return False
    top = granted.key.rstrip("/")
    return not top or path.key.rstrip("/") == top or path.key.startswith(f"{top}/")
