"""Shells in running tasks over HTTP. Plain requests: no protocol of its own has to pass a proxy."""

from __future__ import annotations

import asyncio
import base64
import time
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from danlu.errors import TooManyRequests
from danlu.gateway.terminals import Guest, Terminal
from danlu.server.admission.middleware import END_TURN
from danlu.server.identity import CurrentUser
from danlu.server.state import State
from danlu.server.terminals.operations import opened
from danlu.server.terminals.service import enter
from danlu.wire.terminals import OpenTerminal, TerminalInput, TerminalOut, TerminalOutput, TerminalSizeIn

router = APIRouter(prefix="/jobs/{job}/terminals", tags=["terminals"])
WAIT_SECONDS = 20.0
INPUT_SECONDS = 5.0
"""How long input waits for a command that does not read it."""

LOOK_SECONDS = 0.02
STILL_OPEN_SECONDS = 1.0
SHELL = ("/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; else exec sh; fi")


async def _waits(request: Request) -> None:
    request.scope[END_TURN]()


Waits = Annotated[None, Depends(_waits)]
"""A route that waits for a command, and lets other requests of the same person go on meanwhile."""


@router.post("", status_code=201)
def open_terminal(job: str, body: OpenTerminal, who: CurrentUser, state: State) -> TerminalOut:
    """Start a command in a task that runs, beside its own; a shell when none is named."""
    found = state.database.write(enter, state, who, job, body.rank)
    name = state.terminals.open(
        found.engine,
        found.task,
        guest=Guest(who.user_id, who.origin.via),
        command=body.command or SHELL,
        size=None if body.size is None else (body.size.rows, body.size.columns),
    )
    return TerminalOut(id=name, job=found.task.job_id, rank=body.rank)


@router.get("/{terminal}/output")
async def output(
    job: str, terminal: str, who: CurrentUser, state: State, _waits: Waits, after: Annotated[int, Query(ge=0)] = 0
) -> TerminalOutput:
    """What it printed after an offset. Waits for a while when there is nothing yet."""
    found = await run_in_threadpool(opened, state, who, job, terminal)
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    give_up_at = time.monotonic() + WAIT_SECONDS
    with found.reading(lambda: _set(loop, news)):
        read = found.read(after)
        while not read.data and read.exit_code is None and not state.stopping.is_set():
            left = give_up_at - time.monotonic()
            if left <= 0:
                break
            with suppress(TimeoutError):
                async with asyncio.timeout(min(STILL_OPEN_SECONDS, left)):
                    await news.wait()
            news.clear()
            state.terminals.get(found.job_id, terminal, user_id=who.user_id)  # closed when they may not stay
            read = found.read(after)
    return TerminalOutput(data=base64.b64encode(read.data).decode(), next=read.next, exit_code=read.exit_code)


@router.post("/{terminal}/input", status_code=204)
async def send_input(
    job: str, terminal: str, body: TerminalInput, who: CurrentUser, state: State, _waits: Waits
) -> Response:
    """Send input. Empty data closes the input.

    A command that does not read its input for a while is answered with 429; `fields.taken` says how many bytes it
    took. Send the rest later.
    """
    found = await run_in_threadpool(opened, state, who, job, terminal)
    with found.writing():
        await _type(found, base64.b64decode(body.data))
    return Response(status_code=204)


@router.put("/{terminal}/size", status_code=204)
def resize(job: str, terminal: str, body: TerminalSizeIn, who: CurrentUser, state: State) -> Response:
    """Set the size of the terminal."""
    opened(state, who, job, terminal).resize(body.rows, body.columns)
    return Response(status_code=204)


@router.delete("/{terminal}", status_code=204)
def close(job: str, terminal: str, who: CurrentUser, state: State) -> Response:
    """Close the terminal: its command receives SIGHUP."""
    opened(state, who, job, terminal)
    state.terminals.close(terminal)
    return Response(status_code=204)


async def _type(terminal: Terminal, data: bytes) -> None:
    """Give a command its input, without a thread that waits for it."""
    taken, give_up_at = 0, time.monotonic() + INPUT_SECONDS
    while True:
        if data:
            taken += terminal.channel.write(data[taken:])
        is_done = taken == len(data) if data else terminal.channel.end_input()
        if is_done:
            return
        if time.monotonic() > give_up_at:
            told = f"the command does not read its input: {taken} of {len(data)} bytes were taken; send the rest later"
            raise TooManyRequests(told, fields={"taken": str(taken)}, retry_after_seconds=1)
        await asyncio.sleep(LOOK_SECONDS)


def _set(loop: asyncio.AbstractEventLoop, news: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the server has ended
        loop.call_soon_threadsafe(news.set)
