"""The middleware that every request passes, in this order.

1. The request waits for a turn of its user and is authenticated.
2. Its body is read, up to the limit of its route; of unauthenticated clients, only as much as a form needs.
3. It waits for another turn if it gave up the first to read the body. The turn ends when the response begins.

A body that is streamed to disk is not read here: the route reads its pieces, which are counted as they pass.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from typing import NamedTuple

from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from danlu.auth.identity import Identity
from danlu.auth.throttle import network_of
from danlu.errors import DanluError
from danlu.server.admission.bodies import (
    STRANGER_BYTES,
    UPLOAD_BYTES,
    BodyLimit,
    Memory,
    limit_of,
    too_large,
)
from danlu.server.admission.turns import STRANGER, Turn, Turns
from danlu.server.bodies.receiving import announced_bytes
from danlu.server.failures import answer_to
from danlu.server.identity import COOKIE, WHO, identify, person_of, sender_of
from danlu.server.settings import ServerSettings
from danlu.server.state import ServerState

MAX_KNOWN = 10_000
END_TURN = "danlu.end_turn"
"""Key in a request's scope of the function that ends its turn early: routes call it before they wait for something."""

REFUSED_SECONDS = 1.0
"""A client that is rejected with 429 gets the response after this delay, so that it cannot retry at once."""


class Limits(NamedTuple):
    """What all requests of a server share, also those that another middleware answers."""

    turns: Turns
    memory: Memory

    @classmethod
    def of(cls, settings: ServerSettings) -> Limits:
        return cls(Turns(), Memory(settings.max_uploads_per_person * UPLOAD_BYTES))


def address_of(scope: Scope) -> str:
    """The name under which turns and memory of an unauthenticated client are counted."""
    client = scope.get("client")
    return f"{STRANGER}{network_of(client[0]) if client else ''}"


class Admission:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, state: ServerState, limits: Limits) -> None:
        self._app, self._state = app, state
        self._turns, self._memory = limits
        self._known: OrderedDict[str, str] = OrderedDict()
        """Digest of credentials -> name of the user who last used them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(self, scope, receive, send)
        try:
            await request.run()
        except DanluError as error:
            if request.has_begun:
                raise
            if error.status == 429:
                await asyncio.sleep(REFUSED_SECONDS)
            await answer_to(error)(scope, receive, send)
        except ClientDisconnect:
            return
        finally:
            request.leave()


class _Request:
    """One request that passes the middleware."""

    def __init__(self, admission: Admission, scope: Scope, receive: Receive, send: Send) -> None:
        self._admission, self._scope, self._receive, self._send = admission, scope, receive, send
        self._headers = Headers(scope=scope)
        self._turn: Turn | None = None
        self._reserved: tuple[str, int] | None = None
        self._num_received = 0
        self._person = self._sender = ""
        self._limit = BodyLimit(0)
        self.has_begun = False
        """Whether the response has begun."""

    async def run(self) -> None:
        who = await self._find_out()
        is_stranger = who is None
        settings = self._admission._state.settings
        self._limit = limit_of(self._scope["method"], self._scope["path"], settings.max_body_bytes)
        if is_stranger:
            self._limit = BodyLimit(min(STRANGER_BYTES, self._limit.most_bytes), is_json=True)
        receive = await self._prepared(is_stranger=is_stranger)
        if self._turn is None and self._limit.is_json:
            self._turn = await self._admission._turns.take(self._person)
        self._scope[END_TURN] = self._end_turn
        await self._admission._app(self._scope, receive, self._answer)

    def leave(self) -> None:
        """Release the turn and the reserved memory."""
        if self._turn is not None:
            self._admission._turns.end(self._turn)
            self._turn = None
        if self._reserved is not None:
            self._admission._memory.release(*self._reserved)
            self._reserved = None

    async def _find_out(self) -> Identity | None:
        """Take a turn and authenticate. An error is kept in the scope: only routes that need an identity raise it."""
        given = self._headers.get("authorization") or HTTPConnection(self._scope).cookies.get(COOKIE)
        known = self._admission._known
        digest = hashlib.sha256(given.encode(errors="replace")).hexdigest() if given else ""
        self._person = known.get(digest) or address_of(self._scope)
        self._turn = await self._admission._turns.take(self._person)
        if not given:
            return None
        try:
            who = await run_in_threadpool(identify, self._admission._state, HTTPConnection(self._scope))
        except DanluError as error:
            self._scope[WHO] = error
            known.pop(digest, None)
            return None
        self._scope[WHO] = who
        self._person, self._sender = person_of(who), sender_of(who)
        known[digest] = self._person
        known.move_to_end(digest)
        if len(known) > MAX_KNOWN:
            known.popitem(last=False)
        return who

    async def _prepared(self, *, is_stranger: bool) -> Receive:
        """Return the `receive` that the route reads the body with."""
        announced = announced_bytes(self._headers)
        if announced is not None and announced > self._limit.most_bytes:
            raise self._too_large(is_stranger=is_stranger)
        if announced == 0:
            return self._receive
        if not self._limit.is_json:
            self._end_turn()  # the client decides how long this takes
            await self._reserve(announced)
            return self._counted
        self._end_turn()
        body = await self._whole(announced, is_stranger=is_stranger)
        is_told = False

        async def replay() -> Message:
            nonlocal is_told
            if is_told:
                return await self._receive()
            is_told = True
            return {"type": "http.request", "body": body, "more_body": False}

        return replay

    async def _whole(self, announced: int | None, *, is_stranger: bool) -> bytes:
        pieces: list[bytes] = []
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            pieces.append(message.get("body", b""))
            self._num_received += len(pieces[-1])
            if self._num_received > self._limit.most_bytes:
                raise self._too_large(is_stranger=is_stranger)
            if self._num_received > STRANGER_BYTES and self._reserved is None:
                await self._reserve(announced)
            if not message.get("more_body", False):
                return b"".join(pieces)

    async def _reserve(self, announced: int | None) -> None:
        size = self._limit.in_memory(announced)
        whose = self._sender if self._limit.goes_to_disk else self._person
        await self._admission._memory.reserve(whose, size)
        self._reserved = (whose, size)

    async def _counted(self) -> Message:
        message = await self._receive()
        self._num_received += len(message.get("body", b""))
        if self._num_received > self._limit.most_bytes:
            raise self._too_large(is_stranger=False)
        return message

    def _too_large(self, *, is_stranger: bool) -> DanluError:
        """The error of invalid credentials, if there were any, else that the body is too large."""
        told = self._scope.get(WHO)
        return told if isinstance(told, DanluError) else too_large(self._limit.most_bytes, is_stranger=is_stranger)

    async def _answer(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            self._end_turn()
        await self._send(message)

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._admission._turns.end(self._turn)
            self._turn = None
