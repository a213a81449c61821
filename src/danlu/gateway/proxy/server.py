"""The reverse proxy: serves connections of browsers, and checks regularly who may still use them."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import h11

from danlu.auth.endpoint_grants import COOKIE_SECONDS
from danlu.errors import DanluError, InvalidInput, NotAllowed, NotFound, NotSignedIn, TooManyRequests
from danlu.gateway.proxy import heads, pages
from danlu.gateway.proxy.addresses import Addresses
from danlu.gateway.proxy.exchange import Browser, NotAnswered, exchange, may_repeat
from danlu.gateway.proxy.gate import Gate, Memory
from danlu.gateway.proxy.names import Names, Place
from danlu.gateway.proxy.upstream import MAX_HEAD_BYTES, PIECE_BYTES, Upstreams
from danlu.gateway.services import Starts
from danlu.gateway.tasks import Admitted, Engines, connect
from danlu.gateway.turns import Turns
from danlu.spec.messages.languages import Language

log = logging.getLogger(__name__)

ENTER = "/_danlu/enter"
LOOK_SECONDS = 5.0
"""How often the rights behind open requests are checked again."""

MAX_CONNECTIONS = 4000
MAX_PER_PERSON = 400
"""Concurrent requests of one user, including open WebSockets."""

NUM_THREADS, NUM_CONNECTING = 8, 32
CONNECTING_AT_ONCE, CONNECTING_PER_PERSON = 4, 8
"""Connections to one job, and of one user, that are being opened: a port that does not answer must not take all
threads."""


class ProxyLimits(NamedTuple):
    """Limits for all connections."""

    head_seconds: float = 20.0
    """Timeout for the head of a request, and for the next request on a connection."""

    per_address: int = 0
    """Connections from one address; 0: unlimited."""

    trusted: frozenset[str] = frozenset()
    """Addresses of proxies, which connect for many clients."""


class _Held(NamedTuple):
    """A request in progress, with the cookies that authorized it."""

    place: Place | None
    cookies: tuple[str, ...]
    user_id: int


class Proxy:
    """For one event loop."""

    def __init__(self, engines: Engines, gate: Gate, *, names: Names, limits: ProxyLimits | None = None) -> None:
        self._engines, self._names, self._limits = engines, names, limits or ProxyLimits()
        self._addresses = Addresses(self._limits.per_address, self._limits.trusted)
        self._threads = ThreadPoolExecutor(NUM_THREADS, thread_name_prefix="endpoints")
        self._memory = Memory(gate, self._threads)
        self._cookie = heads.cookie_name(is_secure=names.is_secure)
        self._connecting = Turns(NUM_CONNECTING, "endpoint-ports")
        self._services = Starts(engines, self._connect_now)
        self._upstreams = Upstreams(self._connect)
        self._num_connections = 0
        self._held: dict[asyncio.Task[None], _Held] = {}
        self._num_by_person: Counter[int] = Counter()

    async def serve(self, listener: socket.socket) -> None:
        """Serve until cancelled."""
        server = await asyncio.start_server(self._connected, sock=listener, limit=PIECE_BYTES)
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                self._upstreams.sweep()
                await self._look_who_may_stay()
        finally:
            server.close()
            for task in list(self._held):
                task.cancel()
            self._upstreams.close()
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._connecting.close()
            self._services.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = _address(writer)
        if self._num_connections >= MAX_CONNECTIONS or not self._addresses.take(address):
            writer.transport.abort()
            return
        self._num_connections += 1
        browser = Browser(reader, writer, http=h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES))
        try:
            while await self._serve_one(browser):
                pass
        except (OSError, TimeoutError, asyncio.CancelledError):
            writer.transport.abort()
        except Exception:
            log.exception("a request to an endpoint failed")
            writer.transport.abort()
        finally:
            self._num_connections -= 1
            self._addresses.leave(address)
            with suppress(OSError):
                writer.close()

    async def _serve_one(self, browser: Browser) -> bool:
        """Answer the next request; False when there are no more on this connection."""
        browser.has_answer = False
        reader: Language | None = None
        try:
            async with asyncio.timeout(self._limits.head_seconds):  # for the whole head, even if it trickles in
                request = await browser.next_event(self._limits.head_seconds)
            if not isinstance(request, h11.Request):
                return False
            reader = heads.reader_of(request.headers.raw_items())
            await self._answer(browser, request)
        except h11.RemoteProtocolError as error:
            await _refuse(browser, InvalidInput(f"this is not a request in HTTP: {error}"), reader=reader)
            return False
        except DanluError as error:
            await _refuse(browser, error, reader=reader)
            return False
        if browser.http.our_state is not h11.DONE or browser.http.their_state is not h11.DONE:
            return False
        browser.http.start_next_cycle()
        return True

    async def _answer(self, browser: Browser, request: h11.Request) -> None:
        headers = request.headers.raw_items()
        found = self._names.find(heads.get(headers, b"host") or "")
        if found is None:
            raise NotFound("no endpoint has this name; `danlu open` prints the address of one")
        url = request.target.decode("latin-1")
        if not url.startswith("/"):
            raise InvalidInput("the target of a request: expected a path")
        if url.partition("?")[0] == ENTER:
            await self._enter(browser, request, found.place)
            return
        place, origin = found
        cookies = tuple(heads.cookies(headers, self._cookie))
        admitted = await self._memory.admit(place, cookies)
        if heads.is_foreign(request.method, headers, origin=origin):
            raise NotAllowed(f"this was sent by a page of another site, not by {origin}")
        way = heads.Way(origin=origin, address=_address(browser.writer), cookie=self._cookie)
        task = asyncio.current_task()
        assert task is not None
        if self._num_by_person[admitted.user_id] >= MAX_PER_PERSON:
            told = f"you have {MAX_PER_PERSON} requests to endpoints open, which is the maximum; close some pages"
            raise TooManyRequests(told, retry_after_seconds=5)
        self._held[task] = _Held(place, cookies, admitted.user_id)
        self._num_by_person[admitted.user_id] += 1
        try:
            await self._pass_on(browser, request, admitted=admitted, way=way)
        finally:
            self._leave(task)

    async def _pass_on(self, browser: Browser, request: h11.Request, *, admitted: Admitted, way: heads.Way) -> None:
        upstream = await self._upstreams.take(admitted, is_new=not may_repeat(request))
        try:
            await exchange(browser, upstream, request=request, way=way)
        except NotAnswered:
            upstream.close()
            upstream = await self._upstreams.take(admitted, is_new=True)
            await exchange(browser, upstream, request=request, way=way)
        finally:
            self._upstreams.give_back(upstream)

    async def _enter(self, browser: Browser, request: h11.Request, place: Place | None) -> None:
        asked = parse_qs(urlsplit(request.target.decode("latin-1")).query)
        link, to = asked.get("grant", [""])[0], asked.get("to", ["/"])[0]
        if request.method != b"GET" or not link:
            raise NotSignedIn("a link to an endpoint is needed; `danlu open` prints one")
        if not _is_own_path(to):
            raise InvalidInput(f"to: expected a path of this endpoint, got {to[:100]!r}")
        value = await self._memory.enter(place, link)
        secure = "; Secure" if self._names.is_secure else ""
        cookie = f"{self._cookie}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={COOKIE_SECONDS:.0f}{secure}"
        async with asyncio.timeout(self._limits.head_seconds):
            while not isinstance(await browser.next_event(self._limits.head_seconds), h11.EndOfMessage):
                pass
        await browser.send(pages.entered(to, cookie), h11.EndOfMessage())

    async def _look_who_may_stay(self) -> None:
        """Cancel requests of users who may no longer use the endpoint."""
        for task, held in list(self._held.items()):
            try:
                await self._memory.admit(held.place, held.cookies)
            except DanluError as error:
                if error.status < 500:  # keep requests while the database does not answer
                    task.cancel()

    def _leave(self, task: asyncio.Task[None]) -> None:
        held = self._held.pop(task)
        self._num_by_person[held.user_id] -= 1
        if not self._num_by_person[held.user_id]:
            del self._num_by_person[held.user_id]

    async def _connect(self, admitted: Admitted) -> socket.socket:
        if admitted.target.service:
            return await self._services.connect(admitted)
        return await self._connect_now(admitted)

    async def _connect_now(self, admitted: Admitted) -> socket.socket:
        target = admitted.target
        at_once = {target.task.job_id: CONNECTING_AT_ONCE, admitted.user_id: CONNECTING_PER_PERSON}
        return await self._connecting.call(lambda: connect(self._engines, target), at_once)


async def _refuse(browser: Browser, error: DanluError, *, reader: Language | None) -> None:
    if browser.has_answer or browser.http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    response, body = pages.refusal(error, reader=reader)
    await browser.send(response, h11.Data(data=body), h11.EndOfMessage())


def _is_own_path(path: str) -> bool:
    """Whether a browser stays on this host: no scheme, no `//host`, nothing that would end the header."""
    return path.startswith("/") and path[1:2] not in ("/", "\\") and path.isascii() and path.isprintable()


def _address(writer: asyncio.StreamWriter) -> str:
    peer = writer.get_extra_info("peername")
    return str(peer[0]) if peer else ""
