"""The rules of traces. They belong to an experiment; rights to them are like rights to runs."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from itertools import accumulate
from typing import Any

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import JobIdentity
from danlu.errors import InvalidInput, NotAllowed, NotFound
from danlu.server.mlflow import experiments
from danlu.server.mlflow.bodies import (
    MAX_TRACE_TEXTS,
    DeleteTraces,
    EndTrace,
    LogTrace,
    SearchTraces,
    StartTrace,
    TraceInfo,
    TracePair,
)
from danlu.server.mlflow.door import Caller, actor_of
from danlu.server.mlflow.tokens import offset_in, token_of
from danlu.server.mlflow.traces.view import (
    IN_PROGRESS,
    INPUTS,
    LOCATION,
    OUTPUTS,
    STATUSES,
    info_out,
    infos_out,
    whole_out,
)
from danlu.server.state import ServerState
from danlu.store.metrics.decode import clean
from danlu.store.queries.mlflow import traces
from danlu.store.queries.mlflow.filter import parse_filter, parse_order
from danlu.store.sql.mlflow_tables import ExperimentRow
from danlu.store.sql.mlflow_trace_tables import TraceRow

MAX_TEXT_CHARS = 1 << 20
"""Limit of all tags and metadata of a trace."""

MAX_PAGE_CHARS = 16 << 20
"""Characters of tags and metadata in one response."""

DELETED_AT_A_TIME = 200
_ID = re.compile(r"tr-[0-9a-f]{32}")


def find(session: Session, caller: Caller, trace_id: str) -> TraceRow:
    """The trace with this id in the caller's project."""
    project_id = caller.project_id(session)
    row = traces.trace(session, project_id, trace_id) if _ID.fullmatch(trace_id) else None
    if row is None or not rights.can_see_run(caller.who, project_id=project_id, job_id=row.job_id):
        raise NotFound(f"Trace with ID '{trace_id[:80]}' not found")
    return row


def find_to_change(session: Session, caller: Caller, trace_id: str) -> TraceRow:
    row = find(session, caller, trace_id)
    _check_change(caller, row)
    return row


def start(session: Session, state: ServerState, caller: Caller, body: StartTrace) -> dict[str, Any]:
    experiment = _experiment_to_use(session, caller, body.experiment_id)
    row = _add(session, state, caller, experiment, trace_id=f"tr-{secrets.token_hex(16)}", began_ms=body.timestamp_ms)
    _put(session, row, tags=_values(body.tags), metadata=_values(body.request_metadata))
    return {"trace_info": info_out(session, row)}


def end(session: Session, caller: Caller, trace_id: str, body: EndTrace) -> dict[str, Any]:
    row = find_to_change(session, caller, trace_id)
    row.status, row.took_ms = _status(body.status), max(0, body.timestamp_ms - row.began_ms)
    _put(session, row, tags=_values(body.tags), metadata=_values(body.request_metadata))
    return {"trace_info": info_out(session, row)}


def log(session: Session, state: ServerState, caller: Caller, body: LogTrace) -> dict[str, Any]:
    """Store a trace that has ended. A client that got no answer sends it again."""
    info = body.trace.trace_info
    experiment = _experiment_to_use(session, caller, info.trace_location.mlflow_experiment.experiment_id)
    row = traces.trace(session, experiment.project_id, info.trace_id)
    if row is None:
        row = _add(session, state, caller, experiment, trace_id=info.trace_id, began_ms=_milliseconds(info))
    else:
        _check_change(caller, row)
    row.status, row.took_ms = _status(info.state), _duration(info.execution_duration)
    previews = {INPUTS: info.request_preview, OUTPUTS: info.response_preview}
    metadata = {**{key: value for key, value in previews.items() if value is not None}, **info.trace_metadata}
    _put(session, row, tags=info.tags, metadata=metadata)
    return whole_out(session, row)


def get(session: Session, caller: Caller, trace_id: str) -> dict[str, Any]:
    return {"trace_info": info_out(session, find(session, caller, trace_id))}


def get_whole(session: Session, caller: Caller, trace_id: str) -> dict[str, Any]:
    return whole_out(session, find(session, caller, trace_id))


def search(session: Session, caller: Caller, body: SearchTraces) -> dict[str, Any]:
    """A page of traces, newest first, and the token of the next page."""
    offset = offset_in(body.page_token)
    found = [experiments.find(session, caller, one) for one in dict.fromkeys(body.experiment_ids)]
    wanted = traces.TraceSearch(session, [row.number for row in found])
    wanted.only_of_job(caller.only_job(caller.project_id(session)))
    wanted.where(parse_filter(body.filter))
    orders = [parse_order(text) for text in body.order_by]
    rows = wanted.page(orders, offset=offset, limit=body.max_results + 1)
    page = _sendable(session, rows[: body.max_results])
    answer: dict[str, Any] = {"traces": infos_out(session, page)}
    return answer | ({"next_page_token": token_of(offset + len(page))} if len(rows) > len(page) else {})


def set_tag(session: Session, caller: Caller, trace_id: str, body: TracePair) -> None:
    row = find_to_change(session, caller, trace_id)
    if body.key == LOCATION:
        raise InvalidInput(f"Tag '{LOCATION}' is immutable and cannot be set on a trace.")
    _put(session, row, tags={body.key: body.value}, metadata={})


def delete_tag(session: Session, caller: Caller, trace_id: str, key: str) -> None:
    row = find_to_change(session, caller, trace_id)
    if not traces.delete_tag(session, row.number, clean(key)):
        raise NotFound(f"No trace tag with key '{key}' for trace with request_id '{row.id}'")


def to_delete(session: Session, caller: Caller, body: DeleteTraces, *, limit: int) -> Sequence[TraceRow]:
    """The next traces that this request deletes, of those that the caller sees; they may change all of them."""
    if (body.max_timestamp_millis is None) == (not body.request_ids):
        raise InvalidInput("Exactly one of `max_timestamp_millis` and `request_ids` must be specified.")
    if body.request_ids and body.max_traces is not None:
        raise InvalidInput("`max_traces` can't be specified if `request_ids` is specified.")
    experiment = experiments.find(session, caller, body.experiment_id)
    only = caller.only_job(experiment.project_id)
    if body.max_timestamp_millis is None:
        ids = [one for one in dict.fromkeys(body.request_ids) if _ID.fullmatch(one)]
        rows = traces.named(session, experiment.number, ids, of_job=only)[:limit]
    else:
        rows = traces.until(session, experiment.number, body.max_timestamp_millis, of_job=only, limit=limit)
    for row in rows:
        _check_change(caller, row)
    return rows


def delete(session: Session, caller: Caller, trace_ids: Sequence[str]) -> int:
    """Delete traces whose files were deleted; return how many."""
    project_id = caller.project_id(session)
    rows = [row for one in trace_ids if (row := traces.trace(session, project_id, one)) is not None]
    for row in rows:
        _check_change(caller, row)
    return traces.delete_traces(session, [row.number for row in rows])


def _experiment_to_use(session: Session, caller: Caller, experiment_id: str) -> ExperimentRow:
    experiment = experiments.find(session, caller, experiment_id)
    if experiment.deleted_at is not None:
        raise InvalidInput(f"The experiment {experiment_id} must be in the 'active' state")
    if not isinstance(caller.who, JobIdentity):  # a job may always add to its own project
        experiments.check_project(caller, experiment.project_id)
    return experiment


def _add(
    session: Session, state: ServerState, caller: Caller, experiment: ExperimentRow, *, trace_id: str, began_ms: int
) -> TraceRow:
    who = caller.who
    row = TraceRow(
        id=trace_id,
        project_id=experiment.project_id,
        experiment=experiment.number,
        owner_id=who.owner_id if isinstance(who, JobIdentity) else actor_of(caller).user_id,
        job_id=who.job_id if isinstance(who, JobIdentity) else None,
        status=IN_PROGRESS,
        began_ms=began_ms,
        took_ms=None,
        created_at=state.now(),
    )
    traces.add(session, row)
    return row


def _check_change(caller: Caller, row: TraceRow) -> None:
    if not rights.can_change_run(caller.who, project_id=row.project_id, owner_id=row.owner_id, job_id=row.job_id):
        raise NotAllowed(f"you may not change {row.id}; ask its owner or an owner of its project")


def _put(session: Session, row: TraceRow, *, tags: Mapping[str, str], metadata: Mapping[str, str]) -> None:
    for kind, given in ((traces.TAG, tags), (traces.METADATA, metadata)):
        values = {clean(key): clean(value) for key, value in given.items() if key != LOCATION}
        traces.put_texts(session, row.number, kind=kind, values=values)
        num_keys = len(traces.texts_of(session, [row.number], kind)[row.number])
        if num_keys > MAX_TRACE_TEXTS:
            raise InvalidInput(f"{row.id}: expected at most {MAX_TRACE_TEXTS} of its {kind}, got {num_keys}")
    num_chars = traces.num_chars(session, [row.number])[row.number]
    if num_chars > MAX_TEXT_CHARS:
        raise InvalidInput(f"{row.id}: expected at most {MAX_TEXT_CHARS} characters of tags and metadata")


def _sendable(session: Session, rows: Sequence[TraceRow]) -> Sequence[TraceRow]:
    """The first traces that fit into one response: the rest is on the next page."""
    sizes = traces.num_chars(session, [row.number for row in rows])
    until = accumulate(sizes[row.number] for row in rows)
    return rows[: sum(size <= MAX_PAGE_CHARS for size in until)]


def _values(pairs: Sequence[TracePair]) -> dict[str, str]:
    return {pair.key: pair.value for pair in pairs}


def _status(given: str) -> str:
    if given not in STATUSES:
        raise InvalidInput(f"status: expected one of {', '.join(STATUSES)}, got {given!r}")
    return STATUSES[given]


def _milliseconds(info: TraceInfo) -> int:
    moment = info.request_time
    utc = moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    return round((utc - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds() * 1000)


def _duration(text: str | None) -> int | None:
    """Milliseconds of `1.5s`."""
    return None if text is None else round(float(text.removesuffix("s")) * 1000)
