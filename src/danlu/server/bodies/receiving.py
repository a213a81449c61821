"""Taking a request's body: into the store, streamed, whole or not at all; or into memory, up to a limit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Optional

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers

from danlu.errors import TooLarge
from danlu.server.bodies.direct import fill_directly
from danlu.store.objects.base import Bytes, ObjectInfo, Writer
from danlu.store.objects.direct import aligned_buffer

HEADER_BYTES = 4 << 20
"""What the header of a pack may have, beside the bytes in it."""

PIECE_BYTES = 2 << 20


async def receive(request: Request, writer: Writer, sha256: Optional[str]) -> ObjectInfo:
    """Write the body in large pieces, off the event loop: one is written while the next arrives.

    A client that goes away leaves nothing.
    """
    writing: asyncio.Future[None] | None = None
    done = False
    try:
        async with aclosing(_pieces(request)) as pieces:
            async for piece in pieces:
                if writing is not None:
                    await writing
                writing = asyncio.ensure_future(run_in_threadpool(writer.write, piece))
        if writing is not None:
            await writing
        info = await run_in_threadpool(writer.commit, sha256)
        done = True
        return info
    finally:
        if not done:
            await _give_up(writer, writing)


async def _give_up(writer: Writer, writing: asyncio.Future[None] | None) -> None:
    """Abort once the last piece is written: a thread still uses the file. It ends also when this task is cancelled."""
    try:
        if writing is not None:
            with suppress(Exception):  # it was raised before, or another error is more important
                await asyncio.shield(writing)
    finally:
        if writing is None or writing.done():
            writer.abort()
        else:
            writing.add_done_callback(lambda _: writer.abort())


async def _pieces(request: Request) -> AsyncGenerator[Bytes, None]:
    """The body in pieces. One is good until the next but one is asked for."""
    size = min(PIECE_BYTES, announced_bytes(request.headers) or 0)
    buffers = (aligned_buffer(size), aligned_buffer(size))
    number = 0
    while has := await fill_directly(request, buffers[number % 2]):
        yield buffers[number % 2][:has]
        number += 1
    pending = bytearray()
    async for piece in request.stream():
        pending += piece
        if len(pending) >= PIECE_BYTES:
            yield bytes(pending)
            pending.clear()
    if pending:
        yield bytes(pending)


async def receive_whole(request: Request, max_bytes: int) -> memoryview:
    """Read a body into memory."""
    announced = announced_bytes(request.headers)
    if announced is None:
        return await _gather(request, max_bytes)
    if announced > max_bytes:
        raise _too_large(max_bytes)
    whole = aligned_buffer(announced)
    size = await fill_directly(request, whole)
    async for piece in request.stream():  # h11 hands out no more than was announced
        whole[size : size + len(piece)] = piece
        size += len(piece)
    return whole[:size]


async def _gather(request: Request, max_bytes: int) -> memoryview:
    whole = bytearray()
    async for piece in request.stream():
        whole += piece
        if len(whole) > max_bytes:
            raise _too_large(max_bytes)
    return memoryview(whole)


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"more than {max_bytes} bytes at a time; send several")


def announced_bytes(headers: Headers) -> int | None:
    """Content-Length; 0 without a body, None when its length is not announced."""
    if "transfer-encoding" in headers:
        return None
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() else 0
