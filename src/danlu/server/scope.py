"""The projects of a request: those that the user sees, and the one that something new belongs to.

`danlu.auth.rights` decides what a role allows; here names are resolved to rows, and what is not visible does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import NotAllowed, NotFound
from danlu.store.queries import people, projects
from danlu.store.sql.tables import ProjectRow


def visible_project_ids(who: UserIdentity) -> Sequence[int] | None:
    """Ids of the projects that the user sees; None: all."""
    return None if who.is_admin else list(who.roles)


def find_project(session: Session, who: UserIdentity, name: str) -> ProjectRow:
    """The project with this name, if the user sees it."""
    row = projects.project_by_name(session, name)
    if row is None or not rights.can_see_project(who, row.id):
        raise NotFound(f"no project {name!r}; `danlu projects ls` shows yours")
    return row


def find_project_to_own(session: Session, who: UserIdentity, name: str) -> ProjectRow:
    """The project with this name, if the user may manage it."""
    row = find_project(session, who, name)
    if not rights.can_own_project(who, row.id):
        raise NotAllowed(f"only owners of project {name!r} and admins may do this")
    return row


def project_to_use(session: Session, who: UserIdentity, name: str | None = None) -> int:
    """The project for a new job, bucket, run or file: the named one, or the user's default project.

    There is no fallback when that cannot be used: by archiving a project or removing a member, others could decide
    where a user's jobs are run.
    """
    if name is not None:
        return _named_to_use(session, who, name)
    if who.default_project is None:
        raise NotAllowed(f"you have no default project; {_choose(session, who)}")
    row = projects.get_project(session, who.default_project)
    if row is None or not rights.can_see_project(who, row.id):
        raise NotAllowed(f"your default project was deleted, or you left it; {_choose(session, who)}")
    if not rights.can_use_project(who, row.id):
        raise NotAllowed(f"you may not add to your default project {row.name!r}; {_choose(session, who)}")
    return row.id


def _choose(session: Session, who: UserIdentity) -> str:
    usable = [project_id for project_id in who.roles if rights.can_use_project(who, project_id)]
    if not usable:
        return "you are not a member of any project that you may add to; ask a project owner to invite you"
    names = sorted(name for project_id, name in people.projects_by_id(session).items() if project_id in usable)
    return f"name one ({', '.join(names[:10])}), or set a default: danlu projects default {names[0]}"


def _named_to_use(session: Session, who: UserIdentity, name: str) -> int:
    row = find_project(session, who, name)
    if row.id in who.archived:
        raise NotAllowed(f"project {name!r} is archived; an owner can restore it: danlu projects unarchive {name}")
    if not rights.can_use_project(who, row.id):
        raise NotAllowed(f"you may view project {name!r} but not add to it; ask an owner of it")
    return row.id
