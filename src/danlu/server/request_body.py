"""Taking a request's body: into the store, streamed, whole or not at all; or into memory, up to a limit."""

from __future__ import annotations

from typing import Optional

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from danlu.errors import TooLarge
from danlu.store.objects.base import CHUNK_BYTES, ObjectInfo, Writer

HEADER_BYTES = 4 << 20
"""What the header of a pack may have, beside the bytes in it."""


async def receive(request: Request, writer: Writer, sha256: Optional[str]) -> ObjectInfo:
    """Write the body in large pieces, off the event loop. A client that goes away leaves nothing."""
    done = False
    try:
        pending = bytearray()
        async for piece in request.stream():
            pending += piece
            if len(pending) >= CHUNK_BYTES:
                await run_in_threadpool(writer.write, bytes(pending))
                pending.clear()
        if pending:
            await run_in_threadpool(writer.write, bytes(pending))
        info = await run_in_threadpool(writer.commit, sha256)
        done = True
        return info
    finally:
        if not done:
            writer.abort()


async def receive_whole(request: Request, max_bytes: int) -> bytes:
    """Read a body into memory."""
    pieces, size = [], 0
    async for piece in request.stream():
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            raise TooLarge(f"more than {max_bytes} bytes at a time; send several")
    return b"".join(pieces)
