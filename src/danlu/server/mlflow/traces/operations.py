"""Deletion of traces with their files, which takes several transactions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.exc import IntegrityError

from danlu.auth import rights
from danlu.errors import NotFound
from danlu.server.mlflow import files
from danlu.server.mlflow import operations as door
from danlu.server.mlflow.bodies import MAX_TRACE_IDS, DeleteTraces, LogTrace
from danlu.server.mlflow.door import Caller
from danlu.server.mlflow.traces import service
from danlu.server.objects.operations import record_delete
from danlu.server.state import ServerState

FILE = "traces.json"
"""The spans of a trace, which clients send and fetch as a file."""


def log(state: ServerState, caller: Caller, body: LogTrace) -> dict[str, object]:
    try:
        return door.write(state, caller, service.log, body)
    except IntegrityError:  # the same trace was sent twice at once
        return door.write(state, caller, service.log, body)


def delete(state: ServerState, caller: Caller, body: DeleteTraces) -> int:
    """Delete traces, oldest first, at most 1000 in one request; return how many.

    Their files go first: where that fails, the traces are still there to be deleted again.
    """
    most = min(body.max_traces or MAX_TRACE_IDS, MAX_TRACE_IDS)
    num_deleted = 0
    while num_deleted < most:
        limit = min(most - num_deleted, service.DELETED_AT_A_TIME)
        with state.database.reading() as session:
            ids = [row.id for row in service.to_delete(session, caller, body, limit=limit)]
        if not ids:
            break
        _delete_files(state, caller, ids)
        with state.database.writing() as session:
            num_deleted += service.delete(session, caller, ids)
    return num_deleted


def _delete_files(state: ServerState, caller: Caller, trace_ids: Sequence[str]) -> None:
    where = None
    for trace_id in trace_ids:
        try:
            where = state.database.read(files.readable, caller, files.asked_in(f"traces/{trace_id}/"))
        except NotFound:  # no file was ever sent to the project, or somebody else deleted the trace
            continue
        state.objects.delete_below(where.stored._replace(key=f"{where.stored.key.rstrip('/')}/"))
    actor = rights.actor_of(caller.who)
    if actor is not None and where is not None:
        record_delete(state, actor, where)
