"""Operations with several transactions: metrics are written to files in between, histories are read from files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.errors import InvalidInput, NotFound
from danlu.journal import encode_finish
from danlu.server.identity import identity_now
from danlu.server.mlflow import experiments, files, found_runs, prompts, registry, runs
from danlu.server.mlflow.bodies import CreateVersion, LogBatch, LogPrompt, UpdateRun
from danlu.server.mlflow.door import Caller, actor_of
from danlu.server.mlflow.points import JOURNAL, frames, history_out, key_of
from danlu.server.mlflow.run_view import info_out, surroundings_of
from danlu.server.mlflow.tokens import offset_in, token_of
from danlu.server.models import operations as models
from danlu.server.objects.operations import CheckedWriter, Incoming, record_delete, record_put
from danlu.server.runs.operations import append_frames
from danlu.server.state import ServerState
from danlu.store.metrics.points import Points, join
from danlu.store.objects.base import OpenObject
from danlu.store.queries import people
from danlu.store.queries.mlflow import records as mlflow

T = TypeVar("T")
MAX_HISTORY = 25_000
MAX_FILES = 50_000


def read(state: ServerState, caller: Caller, function: Callable[..., T], *args: Any) -> T:
    """Read in a project, after creating experiments for new folders."""
    _make_missing(state, caller)
    return state.database.read(function, caller, *args)


def write(state: ServerState, caller: Caller, function: Callable[..., T], *args: Any) -> T:
    """The same for a change."""
    _make_missing(state, caller)
    return state.database.write(function, state, caller, *args)


def log_batch(state: ServerState, caller: Caller, body: LogBatch) -> None:
    """Store a batch, after checking all of it."""
    row = state.database.write(runs.take_batch, state, caller, body)
    if body.metrics:
        append_frames(state, row, JOURNAL, frames=frames(body.metrics))


def update(state: ServerState, caller: Caller, body: UpdateRun) -> dict[str, Any]:
    """Rename, end or reopen a run."""
    end = None if body.status is None else runs.end_of(body.status)
    with state.database.writing() as session:
        row = runs.find_to_change(session, caller, body.run)
        if body.run_name is not None:
            runs.rename(session, state, caller, row, body.run_name)
        if body.status is not None and end is None:
            runs.reopen(session, row)
    if end is not None:
        at = runs.moment(body.end_time, state.now()).timestamp()
        append_frames(state, row, JOURNAL, frames=[encode_finish(end.value, time=at)])
    with state.database.reading() as session:
        row = runs.find(session, caller, body.run)
        return info_out(row, surroundings_of(session, row.project_id, [row]))


def log_prompt(state: ServerState, caller: Caller, body: LogPrompt) -> dict[str, Any]:
    """Create a run for a prompt that was tried, with the answer as a table."""
    prompts.check(body)
    run = write(state, caller, prompts.create, body)
    try:
        incoming = begin_put(state, caller, f"runs/{run}/{prompts.TABLE}")
        incoming.writer.write(prompts.table_of(body))
        incoming.writer.commit()
        end_put(state, caller, incoming)
    except Exception:
        update(state, caller, UpdateRun(run_id=run, status="FAILED"))
        raise
    update(state, caller, UpdateRun(run_id=run, status="FINISHED"))
    return state.database.read(found_runs.get, caller, run)


def history(
    state: ServerState, caller: Caller, run_id: str, key: str, *, token: str, limit: int | None
) -> tuple[list[dict[str, Any]], str | None]:
    """A page of a metric's points in the order in which they were logged, and the token of the next page."""
    points = points_of(state, caller, run_id, key)
    offset = offset_in(token)
    page = points.take(slice(offset, offset + (limit or MAX_HISTORY)))
    is_more = offset + len(page) < len(points)
    return history_out(key, page), token_of(offset + len(page)) if is_more else None


def points_of(state: ServerState, caller: Caller, run_id: str, key: str) -> Points:
    """All points of a metric in the order in which they were logged."""
    with state.database.reading() as session:
        row = runs.find(session, caller, run_id)
        series = next((one for one in mlflow.series_of(session, [row.number])[row.number] if key_of(one) == key), None)
        reader = state.metrics.reader
        opened = reader.open_run(session, row)
        some = reader.find(session, opened, [] if series is None else [series])
    return join([points for _, _, points, _ in reader.all_points(opened, some)])


def register(state: ServerState, caller: Caller, body: CreateVersion) -> dict[str, Any]:
    """Register a version; its files are copied."""
    asked = state.database.read(registry.registration, caller, body)
    return registry.version_out(models.register(state, caller.who, asked))


def delete_model(state: ServerState, caller: Caller, name: str) -> None:
    project = state.database.read(_project_of, caller, name)
    models.delete_model(state, actor_of(caller), name, project, with_files=False)


def delete_version(state: ServerState, caller: Caller, name: str, version: str) -> None:
    project = state.database.read(_project_of, caller, name)
    row = state.database.read(registry.find_version, caller, name, version)
    models.delete_version(state, actor_of(caller), name, str(row.version), project, with_files=False)


def begin_put(state: ServerState, caller: Caller, path: str) -> Incoming:
    """Begin an upload."""
    asked = files.asked_in(path)
    if not asked.key:
        raise InvalidInput(f"Invalid artifact path {path[:100]!r}: expected a file below {asked.kind}/{asked.owner}/")
    state.database.write(files.make_bucket, state, caller, asked)
    where = state.database.read(files.readable, caller, asked)

    def check() -> None:
        state.database.read(_still_writable, state, caller, asked)

    return Incoming(where, CheckedWriter(state.objects.put(where.stored), check))


def end_put(state: ServerState, caller: Caller, incoming: Incoming) -> None:
    record_put(state, caller.who, incoming.where)


def open_file(state: ServerState, caller: Caller, path: str) -> OpenObject:
    where = state.database.read(files.readable, caller, files.asked_in(path))
    return state.objects.open(where.stored)


def open_file_of_version(state: ServerState, caller: Caller, name: str, *, version: str, path: str) -> OpenObject:
    row = state.database.read(registry.find_version, caller, name, version)
    return open_file(state, caller, f"versions/{row.id}/{path}")


def list_files(state: ServerState, caller: Caller, path: str) -> list[dict[str, Any]]:
    """The entries of a folder, with names relative to it. Empty for a file, and for what does not exist."""
    asked = files.asked_in(path)
    try:
        where = state.database.read(files.readable, caller, asked)
    except NotFound:
        state.database.read(files.check_read, caller, asked)
        return []
    prefix = f"{where.stored.key.rstrip('/')}/"
    found: list[dict[str, Any]] = []
    after: str | None = ""
    while after is not None and len(found) < MAX_FILES:
        page = state.objects.list(where.stored.bucket, prefix=prefix, delimiter="/", after=after, limit=1000)
        found += [{"path": name[len(prefix) :].rstrip("/"), "is_dir": True} for name in page.folders]
        found += [{"path": one.key[len(prefix) :], "is_dir": False, "file_size": one.size} for one in page.objects]
        after = page.next
    return sorted(found, key=lambda one: str(one["path"]))


def delete_files(state: ServerState, caller: Caller, path: str) -> None:
    """Delete a file, or a folder with everything in it."""
    asked = files.asked_in(path)
    state.database.read(files.check_write, caller, asked)
    where = state.database.read(files.readable, caller, asked)
    state.objects.delete(where.stored)
    state.objects.delete_below(where.stored._replace(key=f"{where.stored.key.rstrip('/')}/"))
    actor = rights.actor_of(caller.who)
    if actor is not None:
        record_delete(state, actor, where)


def _make_missing(state: ServerState, caller: Caller) -> None:
    """Create missing experiments: other clients create folders. Few requests find a new one."""
    if state.database.read(experiments.is_any_missing, caller):
        state.database.write(experiments.make_missing, state, caller)


def _project_of(session: Session, caller: Caller, model: str) -> str:
    return people.projects_by_id(session)[registry.find(session, caller, model).project_id]


def _still_writable(session: Session, state: ServerState, caller: Caller, asked: files.Asked) -> None:
    files.check_write(session, caller._replace(who=identity_now(session, state, caller.who)), asked)
