"""The rules of folders of runs and artifacts."""

from __future__ import annotations

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity, UserIdentity
from danlu.errors import AlreadyExists, NotAllowed, NotFound
from danlu.server.audit.service import record_action
from danlu.server.flow import recording as flow
from danlu.server.invalid import bad_field
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.runs import check_folder
from danlu.store.metrics.decode import clean
from danlu.store.queries import people, run_folders, runs
from danlu.wire.runs import FolderOut, MakeFolder, MoveFolder


def list_folders(session: Session, who: Identity) -> list[FolderOut]:
    reader = rights.reader_of(who)
    seen = visible_project_ids(reader) if reader is not None else None
    if isinstance(who, JobIdentity):
        seen = [*{who.project_id, *(seen or ())}]
    names = people.projects_by_id(session)
    counts = run_folders.num_runs(session, seen)
    return [
        FolderOut(project=names[row.project_id], path=row.path, num_runs=counts.get((row.project_id, row.path), 0))
        for row in run_folders.list_folders(session, seen)
    ]


def make_folder(session: Session, state: ServerState, who: Identity, body: MakeFolder) -> FolderOut:
    project_id, folder = _project_of_new(session, who, body.project), folder_in("path", body.path)
    run_folders.make(session, project_id, folder, state.now())
    record_action(session, who, Action.FOLDER_MAKE, f"folder/{folder}", at=state.now(), project_id=project_id)
    return _folder_out(session, project_id, folder)


def move_folder(session: Session, state: ServerState, who: UserIdentity, body: MoveFolder) -> FolderOut:
    """Move a folder. Only owners of the project, or of every run in the folder, may do so."""
    project_id = project_to_use(session, who, body.project)
    old, new = folder_in("path", body.path), folder_in("to", body.to)
    _check_folder_change(session, who, project_id, old)
    if not new or new == old or new.startswith(f"{old}/"):
        raise bad_field("to", f"expected a path that is not below {old!r}, got {new!r}")
    if run_folders.exists(session, project_id, new):
        raise AlreadyExists(f"there is a folder {new!r} already")
    run_folders.move(session, project_id, old, new, state.now())
    record_action(session, who, Action.FOLDER_MOVE, f"folder/{old}", at=state.now(), project_id=project_id, to=new)
    return _folder_out(session, project_id, new)


def delete_folder(session: Session, state: ServerState, who: UserIdentity, path: str, project: str | None) -> None:
    """Move the runs in a folder to the trash, and delete the folder. Restored runs come back to it."""
    project_id, folder = project_to_use(session, who, project), folder_in("path", path)
    _check_folder_change(session, who, project_id, folder)
    flow.runs_deleted(session, runs.ids_below(session, project_id, folder), state.now())
    runs.bin_folder(session, project_id, folder, state.now())
    run_folders.remove(session, project_id, folder)
    record_action(session, who, Action.FOLDER_DELETE, f"folder/{folder}", at=state.now(), project_id=project_id)


def need_folder(session: Session, state: ServerState, project_id: int, path: str, *, may_make: bool) -> str:
    """Return the normalized path of a folder, created if needed. Raise InvalidInput when it would have to be and
    `may_make` is false."""
    folder = folder_in("folder", path)
    if not may_make and not run_folders.exists(session, project_id, folder):
        raise bad_field("folder", f"there is no folder {folder!r}; create it first, or pass make_folder")
    run_folders.make(session, project_id, folder, state.now())
    return folder


def folder_in(field: str, path: str) -> str:
    """The normal form of a path that a request gave in this field."""
    try:
        return check_folder(clean(path))
    except ValueError as error:
        raise bad_field(field, str(error)) from error


def _project_of_new(session: Session, who: Identity, name: str | None) -> int:
    if not isinstance(who, JobIdentity):
        return project_to_use(session, who, name)
    own = people.projects_by_id(session).get(who.project_id)
    if name not in (None, own):
        raise NotAllowed(f"{who.job_id} makes folders in its own project only; expected {own!r}, got {name!r}")
    return who.project_id


def _folder_out(session: Session, project_id: int, path: str) -> FolderOut:
    num_runs = run_folders.num_runs(session, [project_id]).get((project_id, path), 0)
    return FolderOut(project=people.project_name(session, project_id), path=path, num_runs=num_runs)


def _check_folder_change(session: Session, who: UserIdentity, project_id: int, folder: str) -> None:
    if not folder or not run_folders.exists(session, project_id, folder):
        raise NotFound(f"no folder {folder!r}")
    if rights.can_own_project(who, project_id):
        return
    others = run_folders.owners_below(session, project_id, folder) - {who.user_id}
    if others:
        raise NotAllowed(f"{folder!r} holds runs of others; an owner of the project may change it")
