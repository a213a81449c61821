"""Runs over HTTP: make, list, search, change, and their journals."""

from __future__ import annotations

from typing import Annotated, Optional

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from danlu.auth import rights
from danlu.errors import TooLarge
from danlu.server.identity import CurrentActor, CurrentIdentity, CurrentReader
from danlu.server.openapi import TAKES_BYTES
from danlu.server.paging import Limit, number_in
from danlu.server.runs import operations, service
from danlu.server.runs.sorting import MAX_CURSOR_CHARS, place_in
from danlu.server.runs.view import environment_out, run_out, skipped_out
from danlu.server.runs.wanted import WantedRuns
from danlu.server.state import State
from danlu.spec.run_filter import MAX_SORT_CHARS, parse_sort
from danlu.store.metrics.journals import MAX_PIECE_BYTES
from danlu.wire.base import Page
from danlu.wire.runs import ChangeRun, CreateRun, EnvironmentOut, OffsetOut, RunOut, RunSummary

router = APIRouter(prefix="/runs", tags=["runs"])


@router.post("", status_code=201)
def create(body: CreateRun, who: CurrentIdentity, state: State) -> RunOut:
    """Create a run. The same id again is the same run."""
    with state.database.writing() as session:
        row = service.create(session, state, who, body)
        is_seen = rights.can_see_run(who, project_id=row.project_id, job_id=row.job_id)
        return run_out(session, row) if is_seen else skipped_out(session, row)


@router.get("")
def list_runs(
    state: State,
    wanted: WantedRuns,
    cursor: Annotated[Optional[str], Query(max_length=MAX_CURSOR_CHARS)] = None,
    limit: Limit = 100,
    sort: Annotated[Optional[str], Query(max_length=MAX_SORT_CHARS)] = None,
) -> Page[RunSummary]:
    """Newest first. `filter` is in the filter language, such as `metrics.val.acc > 0.9 and hparams.lr < 0.01`.

    `below=false` leaves out the folders below `folder`; `deleted=true` lists the trash.
    `sort` is a metric (`val/acc`: its last value), `hparams.NAME`, `summary.NAME` or a field such as `name` or
    `created`, with `-` in front for the largest first; runs without the value come last.
    """
    with state.database.reading() as session:
        if sort is None:
            return service.list_runs(session, wanted, before=number_in(cursor), limit=limit)
        by = parse_sort(sort)
        after = None if cursor is None else place_in(cursor, by)
        return service.list_sorted(session, wanted, by, after=after, limit=limit)


@router.get("/{run}")
def get(run: str, who: CurrentIdentity, state: State) -> RunOut:
    """A run, by id or by name (the newest run of that name)."""
    with state.database.reading() as session:
        return run_out(session, service.find(session, who, run))


@router.patch("/{run}")
def change(run: str, body: ChangeRun, who: CurrentActor, state: State) -> RunOut:
    """Rename, move, label or describe a run."""
    with state.database.writing() as session:
        return run_out(session, service.change(session, state, who, run, body))


@router.delete("/{run}", status_code=204)
def delete(run: str, who: CurrentActor, state: State, purge: bool = False) -> Response:
    """Move a run to the trash; with `purge`, delete one in the trash permanently."""
    gone = state.database.write(service.delete, state, who, run, purge=purge)
    if gone is not None:
        state.metrics.delete_run(gone)
    return Response(status_code=204)


@router.post("/{run}/restore")
def restore(run: str, who: CurrentActor, state: State) -> RunOut:
    """Restore a run from the trash."""
    with state.database.writing() as session:
        return run_out(session, service.restore(session, state, who, run))


@router.get("/{run}/environment")
def environment(run: str, who: CurrentReader, state: State) -> EnvironmentOut:
    """What was captured of a run's surroundings: packages, git commit and diff, command, machine."""
    with state.database.reading() as session:
        return environment_out(service.find(session, who, run))


@router.get("/{run}/journals/{journal}")
def journal_offset(run: str, journal: str, who: CurrentIdentity, state: State) -> OffsetOut:
    """How much of a journal has arrived; 0 for one that is not known."""
    return OffsetOut(offset=operations.journal_offset(state, who, run, journal))


@router.put("/{run}/journals/{journal}", openapi_extra=TAKES_BYTES)
async def append(
    run: str,
    journal: str,
    request: Request,
    who: CurrentIdentity,
    state: State,
    offset: Annotated[int, Query(ge=0, le=2**50)],
) -> OffsetOut:
    """Take bytes of a journal from `offset` on, whole frames, and say how many bytes are durable now.

    What is there already is passed over; when bytes before `offset` are missing, nothing is taken.
    """
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_PIECE_BYTES:
            raise TooLarge(f"more than {MAX_PIECE_BYTES} bytes at a time; send a journal in pieces of 4 MiB")
    end = await run_in_threadpool(
        operations.append_to_journal, state, who, run, journal, offset=offset, data=bytes(data)
    )
    return OffsetOut(offset=end)
