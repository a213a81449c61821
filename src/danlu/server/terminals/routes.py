"""Shells in running tasks over HTTP. Plain requests: no protocol of its own has to pass a proxy."""

from __future__ import annotations

import asyncio
import base64
import time
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from danlu.gateway.terminals import Output
from danlu.server.identity import CurrentUser
from danlu.server.jobs import service
from danlu.server.state import State
from danlu.server.terminals.service import enter
from danlu.wire.terminals import OpenTerminal, TerminalInput, TerminalOut, TerminalOutput, TerminalSizeIn

router = APIRouter(prefix="/jobs/{job}/terminals", tags=["terminals"])
WAIT_SECONDS = 20.0
LOOK_SECONDS = 0.02
SHELL = ("/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; else exec sh; fi")


@router.post("", status_code=201)
def open_terminal(job: str, body: OpenTerminal, who: CurrentUser, state: State) -> TerminalOut:
    """Start a command in a task that runs, beside its own; a shell when none is named."""
    found = state.database.write(enter, state, who, job, body.rank)
    name = state.terminals.open(
        found.engine,
        found.task,
        user_id=who.user_id,
        command=body.command or SHELL,
        size=None if body.size is None else (body.size.rows, body.size.columns),
    )
    return TerminalOut(id=name, job=found.task.job_id, rank=body.rank)


@router.get("/{terminal}/output")
async def output(
    job: str, terminal: str, who: CurrentUser, state: State, after: Annotated[int, Query(ge=0)] = 0
) -> TerminalOutput:
    """What it printed after an offset. Waits for a while when there is nothing yet."""
    job_id = await run_in_threadpool(_job_id, state, who, job)
    found = state.terminals.get(job_id, terminal, user_id=who.user_id)
    give_up_at = time.monotonic() + WAIT_SECONDS
    read: Output = found.read(after)
    while not read.data and read.exit_code is None and time.monotonic() < give_up_at and not state.stopping.is_set():
        await asyncio.sleep(LOOK_SECONDS)
        read = found.read(after)
    return TerminalOutput(data=base64.b64encode(read.data).decode(), next=read.next, exit_code=read.exit_code)


@router.post("/{terminal}/input", status_code=204)
def send_input(job: str, terminal: str, body: TerminalInput, who: CurrentUser, state: State) -> Response:
    """Type something. Empty data says that there is no more to come."""
    found = state.terminals.get(_job_id(state, who, job), terminal, user_id=who.user_id)
    found.channel.write(base64.b64decode(body.data))
    return Response(status_code=204)


@router.put("/{terminal}/size", status_code=204)
def resize(job: str, terminal: str, body: TerminalSizeIn, who: CurrentUser, state: State) -> Response:
    found = state.terminals.get(_job_id(state, who, job), terminal, user_id=who.user_id)
    found.resize(body.rows, body.columns)
    return Response(status_code=204)


@router.delete("/{terminal}", status_code=204)
def close(job: str, terminal: str, who: CurrentUser, state: State) -> Response:
    """Hang up: what runs in it gets SIGHUP."""
    state.terminals.get(_job_id(state, who, job), terminal, user_id=who.user_id)
    state.terminals.close(terminal)
    return Response(status_code=204)


def _job_id(state: State, who: CurrentUser, job: str) -> str:
    with state.database.reading() as session:
        return service.find(session, who, job).id
