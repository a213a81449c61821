"""The rules of runs. No HTTP, no SQL, no commit: the caller owns the transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import Identity, JobIdentity
from danlu.errors import AlreadyExists, Conflict, InvalidInput, NotAllowed, NotFound
from danlu.server.audit.service import record_action
from danlu.server.flow import recording as flow
from danlu.server.folders.service import folder_in, need_folder
from danlu.server.invalid import bad_field
from danlu.server.paging import cut, page_of
from danlu.server.runs.sorting import cursor_of
from danlu.server.runs.view import alert_out, media_out, metric_out, rows_out
from danlu.server.scope import project_to_use, visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.run_filter import RunSort, parse_filter, value_fields
from danlu.spec.runs import RUN_ID_BEGINS, RunState, is_run_id
from danlu.spec.sentences import suggestion
from danlu.store.metrics.decode import clean
from danlu.store.metrics.ingest import put_values
from danlu.store.queries import jobs, run_folders, runs
from danlu.store.queries.lists import run_order
from danlu.store.queries.lists.run_order import Place
from danlu.store.queries.monitoring import run_alerts
from danlu.store.sql.run_tables import MediaRow, RunRow
from danlu.wire.base import Page
from danlu.wire.runs import ChangeRun, CreateRun, MediaOut, MetricOut, OnConflict, RunAlertOut, RunSummary


def create(session: Session, state: ServerState, who: Identity, body: CreateRun) -> RunRow:
    """Create a run, or return the one with this id. A job creates runs of its own only."""
    if not is_run_id(body.run):
        raise bad_field("run", f"expected run- and 26 characters of a-z and 2-7, got {body.run!r}")
    folder = folder_in("folder", body.folder or "")
    known = runs.get_run(session, body.run)
    if known is not None:
        _check_known(known, who)
        if isinstance(who, JobIdentity):  # a later attempt continues the run, which then ends with that attempt
            known.attempt = max(known.attempt or 0, who.attempt)
        if "conflict" in body.model_fields_set and folder != known.folder:  # an upload to another folder
            other = _make_room(session, state, who, body, project_id=known.project_id, folder=folder)
            known.folder, known.version = (known.folder if other else folder), known.version + 1
        return known
    project_id, owner_id, job_id, attempt = _belongs(session, who, body)
    other = _make_room(session, state, who, body, project_id=project_id, folder=folder)
    if other is not None:
        return other
    now = state.now()
    began = now if body.created_at is None else min(now, datetime.fromtimestamp(body.created_at, timezone.utc))
    row = RunRow(
        id=body.run,
        project_id=project_id,
        owner_id=owner_id,
        folder=folder,
        name=clean(body.name),
        state=RunState.RUNNING.value,
        job_id=job_id,
        attempt=attempt,
        labels=clean(body.labels),
        group=clean(body.group) or None,
        parent=body.parent,
        axes={},
        description=clean(body.description),
        hparams=clean(body.hparams),
        summary={},
        info=clean(body.environment),
        set_at={},
        created_at=began,
        started_at=began,
        seen_at=now,
    )
    runs.add_run(session, row)
    if row.hparams:
        put_values(session, row.number, "hparams", row.hparams)
    flow.run_made(session, row, now)
    _record(session, state, who, Action.RUN_MAKE, row)
    return row


def list_runs(session: Session, wanted: runs.RunFilter, *, before: int | None, limit: int) -> Page[RunSummary]:
    """Newest first. Raise InvalidInput for a filter that finds nothing because no run has a field that it names."""
    found = runs.list_runs(session, wanted, before=before, limit=limit + 1)
    if not found and wanted.text and before is None:
        _check_names(session, wanted, wanted.text)
    rows, after = cut(found, limit, lambda row: str(row.number))
    return Page(items=rows_out(session, rows), next=after)


def list_sorted(
    session: Session, wanted: runs.RunFilter, sort: RunSort, *, after: Place | None, limit: int
) -> Page[RunSummary]:
    """Sorted by one of their values; runs without it last. Raise InvalidInput as `list_runs`."""
    found = run_order.list_sorted(session, wanted, sort, after=after, limit=limit + 1)
    if not found and wanted.text and after is None:
        _check_names(session, wanted, wanted.text)
    placed, behind = cut(found, limit, lambda one: cursor_of(one.place))
    return Page(items=rows_out(session, [one.run for one in placed]), next=behind)


def _check_names(session: Session, wanted: runs.RunFilter, text: str) -> None:
    """Raise InvalidInput if no run has a field that the filter names."""
    named = [name for name in value_fields(parse_filter(text)) if not runs.has_value(session, wanted.project_ids, name)]
    if named:
        near = suggestion(named[0], runs.value_names(session, wanted.project_ids))
        problem = f"no run has {named[0]}{near if 'did you mean' in near else ''}"
        raise InvalidInput(f"filter: {problem}", fields={"filter": problem})


def find(session: Session, who: Identity, name_or_id: str) -> RunRow:
    """The run with this id, also in the trash; else the newest with this name, or the only one whose id
    begins with it."""
    reader = rights.reader_of(who)
    if is_run_id(name_or_id):
        row = runs.get_run(session, name_or_id)
    elif reader is None:
        row = None
    else:
        seen = visible_project_ids(reader)
        row = runs.by_name(session, name_or_id, seen) or _by_prefix(session, name_or_id, seen)
    if row is None or not rights.can_see_run(who, project_id=row.project_id, job_id=row.job_id):
        raise NotFound(f"no run {name_or_id!r}; `danlu runs ls` lists them")
    return row


def _by_prefix(session: Session, prefix: str, project_ids: Sequence[int] | None) -> RunRow | None:
    if not RUN_ID_BEGINS.fullmatch(prefix):
        return None
    found = runs.by_prefix(session, prefix, project_ids, limit=2)
    if len(found) > 1:
        raise Conflict(f"several runs have ids that begin with {prefix!r}; give more of it")
    return found[0] if found else None


def list_series(session: Session, who: Identity, run: str) -> list[MetricOut]:
    return [metric_out(series) for series in runs.series_of(session, find(session, who, run).number)]


def list_media(session: Session, who: Identity, run: str, *, after: tuple[str, int], limit: int) -> Page[MediaOut]:
    found = runs.media_of(session, find(session, who, run).number, after=after, limit=limit + 1)
    return page_of([media_out(media) for media in found], limit, lambda media: media.id)


def list_alerts(session: Session, who: Identity, run: str, *, before: int | None, limit: int) -> Page[RunAlertOut]:
    found = run_alerts.alerts_of(session, find(session, who, run).number, before=before, limit=limit + 1)
    return page_of([alert_out(alert) for alert in found], limit, lambda alert: str(alert.id))


def find_media(
    session: Session, who: Identity, run: str, place: tuple[str, int] | None, name: str
) -> tuple[RunRow, MediaRow]:
    """Media that a run has logged, by its journal and its offset there."""
    row = find(session, who, run)
    found = runs.get_media(session, row.number, *place) if place is not None else None
    if found is None:
        raise NotFound(f"{row.id} has no {name!r}")
    return row, found


def find_to_change(session: Session, who: Identity, name_or_id: str) -> RunRow:
    row = find(session, who, name_or_id)
    if not can_change(who, row):
        raise NotAllowed(f"you may not change {row.id}; ask its owner or an owner of its project")
    return row


def can_change(who: Identity, row: RunRow) -> bool:
    return rights.can_change_run(who, project_id=row.project_id, owner_id=row.owner_id, job_id=row.job_id)


def change(session: Session, state: ServerState, who: Identity, run: str, body: ChangeRun) -> RunRow:
    row = find_to_change(session, who, run)
    if body.folder is not None:
        row.folder = need_folder(session, state, row.project_id, body.folder, may_make=body.make_folder)
    if body.name is not None:
        row.name = clean(body.name)
        flow.run_renamed(session, row)
    if body.labels is not None:
        row.labels = clean(body.labels)
    if body.description is not None:
        row.description = clean(body.description)
    row.version += 1
    _record(session, state, who, Action.RUN_CHANGE, row)
    return row


def move_to_trash(session: Session, state: ServerState, who: Identity, row: RunRow) -> None:
    """Move a run to the trash. Idempotent."""
    if not can_change(who, row):
        raise NotAllowed(f"you may not change {row.id}; ask its owner or an owner of its project")
    if row.deleted_at is None:
        row.deleted_at = state.now()
        row.version += 1
        flow.runs_deleted(session, [row.id], state.now())


def restore(session: Session, state: ServerState, who: Identity, run: str) -> RunRow:
    """Restore a run from the trash to its folder. Idempotent."""
    row = find_to_change(session, who, run)
    if row.deleted_at is not None:
        run_folders.make(session, row.project_id, row.folder, state.now())
        row.deleted_at = None
        row.version += 1
        flow.run_made(session, row, state.now())
        _record(session, state, who, Action.RUN_RESTORE, row)
    return row


def delete(session: Session, state: ServerState, who: Identity, run: str, *, purge: bool) -> str | None:
    """Move a run to the trash, or delete it permanently; return its id if its files must be deleted."""
    row = find_to_change(session, who, run)
    if not purge:
        move_to_trash(session, state, who, row)
        _record(session, state, who, Action.RUN_DELETE, row)
        return None
    if row.deleted_at is None:
        raise Conflict(f"{row.id} is not in the trash; delete it first, then permanently")
    _record(session, state, who, Action.RUN_PURGE, row)
    runs.purge(session, row)
    return row.id


def _record(session: Session, state: ServerState, who: Identity, action: Action, row: RunRow) -> None:
    record_action(session, who, action, f"run/{row.id}", at=state.now(), project_id=row.project_id, name=row.name)


def _make_room(
    session: Session, state: ServerState, who: Identity, body: CreateRun, *, project_id: int, folder: str
) -> RunRow | None:
    """Prepare the folder for a run of this name; return an existing run if that is to be used instead."""
    if not body.make_folder and not run_folders.exists(session, project_id, folder):
        raise bad_field("folder", f"there is no folder {folder!r}; create it first, or pass make_folder")
    before = runs.in_folder(session, project_id, folder, body.name) if body.conflict is not OnConflict.NEW else ()
    if before and body.conflict is OnConflict.ERROR:
        raise AlreadyExists(f"{folder or 'the top folder'} has a run named {body.name!r} already: {before[-1].id}")
    if before and body.conflict is OnConflict.SKIP:
        return before[-1]
    if before:
        move_to_trash(session, state, who, before[-1])  # the newest; `new` may have created others of that name
    run_folders.make(session, project_id, folder, state.now())
    return None


def _check_known(row: RunRow, who: Identity) -> None:
    """Reject a repeated run if the caller may not write it."""
    if can_change(who, row):
        return
    if rights.can_see_run(who, project_id=row.project_id, job_id=row.job_id):
        raise NotAllowed(f"{row.id} is the run of another user; nothing was added to it")
    raise Conflict(f"the id {row.id} is taken by another run; use a new id")


def _belongs(session: Session, who: Identity, body: CreateRun) -> tuple[int, int, str | None, int | None]:
    """Project, owner, job and attempt of a new run."""
    if isinstance(who, JobIdentity):
        job = jobs.get_job(session, who.job_id)
        if job is None:
            raise NotFound(f"no job {who.job_id!r}")
        return job.project_id, job.owner_id, job.id, who.attempt
    project_id = project_to_use(session, who, body.project)
    job = jobs.get_job(session, body.job) if body.job else None
    if job is not None and rights.can_change_job(who, project_id=job.project_id, owner_id=job.owner_id):
        return job.project_id, who.user_id, job.id, body.attempt
    return project_id, who.user_id, None, None
