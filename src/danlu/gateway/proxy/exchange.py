"""Forwards one request and its response between a browser and a port of a task, as a stream."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

import h11

from danlu.errors import PortClosed
from danlu.gateway.proxy.heads import Way, to_browser, to_endpoint
from danlu.gateway.proxy.upstream import PIECE_BYTES, Event, Upstream

ANSWER_SECONDS = 600.0
"""Timeout for the start of a program's response, and between two pieces of it."""

READING_SECONDS = 60.0
"""Timeout for a browser to read a piece, and to send the next one."""


class Browser:
    """The client side of an exchange."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, http: h11.Connection) -> None:
        self.reader, self.writer, self.http = reader, writer, http
        self.has_answer = False
        """Whether part of a response was sent."""

    async def send(self, *events: h11.Event) -> None:
        for event in events:
            data = self.http.send(event)
            if data:
                self.writer.write(data)
        async with asyncio.timeout(READING_SECONDS):
            await self.writer.drain()

    async def next_event(self, seconds: float) -> Event:
        while True:
            event = self.http.next_event()
            if event is not h11.NEED_DATA:
                return cast("Event", event)
            if self.http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
            async with asyncio.timeout(seconds):
                self.http.receive_data(await self.reader.read(PIECE_BYTES))


class NotAnswered(Exception):
    """The program closed a reused connection before it sent any of its response."""


async def exchange(browser: Browser, upstream: Upstream, *, request: h11.Request, way: Way) -> None:
    """Forward a request whose head was read, and its response; return when both are complete. Raise DanluError while
    nothing of the response was sent, OSError when one side has disconnected."""
    head = h11.Request(
        method=request.method, target=request.target, headers=to_endpoint(request.headers.raw_items(), way)
    )
    upstream.writer.write(upstream.http.send(head) or b"")
    sending = asyncio.ensure_future(_send_body(browser, upstream))
    try:
        switched = await _answer(browser, upstream, way=way)
        if switched is not None:
            sending.cancel()
            with suppress(asyncio.CancelledError):
                await sending
            await _switch(browser, upstream, switched=switched, way=way)
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


def may_repeat(request: h11.Request) -> bool:
    """Whether a request can be repeated on a new connection when a reused one turns out to be closed."""
    names = {name for name, _ in request.headers}
    return request.method in (b"GET", b"HEAD") and not names & {b"content-length", b"transfer-encoding"}


async def _send_body(browser: Browser, upstream: Upstream) -> None:
    """Forward the body; then wait for the browser to disconnect, to close the connection to the program as well."""
    try:
        while True:
            event = await browser.next_event(READING_SECONDS)
            if isinstance(event, h11.Data):
                upstream.writer.write(upstream.http.send(h11.Data(data=event.data)) or b"")
                async with asyncio.timeout(ANSWER_SECONDS):
                    await upstream.writer.drain()
            else:
                upstream.writer.write(upstream.http.send(h11.EndOfMessage()) or b"")
                break
        if browser.http.trailing_data[0]:
            return
        data = await browser.reader.read(PIECE_BYTES)
        browser.http.receive_data(data)  # the beginning of the next request, or the end of the connection
        if not data:
            upstream.close()
    except (OSError, TimeoutError, h11.ProtocolError):
        upstream.close()


async def _answer(browser: Browser, upstream: Upstream, *, way: Way) -> h11.InformationalResponse | None:
    """Forward the response; return one with status 101 (Switching Protocols) without forwarding it."""
    while True:
        try:
            event = await upstream.next_event(ANSWER_SECONDS)
        except TimeoutError as error:
            raise PortClosed(f"the program on port {upstream.target.port} does not answer") from error
        except (OSError, h11.RemoteProtocolError) as error:
            if browser.has_answer:
                raise ConnectionAbortedError from error
            if upstream.is_used and not upstream.http.trailing_data[0]:
                raise NotAnswered("the connection was closed") from error
            told = f"the program on port {upstream.target.port} does not answer in HTTP: {error}"
            raise PortClosed(told) from error
        if isinstance(event, h11.InformationalResponse):
            if event.status_code == 101:
                return event
        elif isinstance(event, h11.Response):
            upstream.is_used = False  # it answers, so it was not closed while idle
            browser.has_answer = True
            headers = to_browser(event.headers.raw_items(), way)
            await browser.send(h11.Response(status_code=event.status_code, headers=headers, reason=event.reason))
        elif isinstance(event, h11.Data):
            await browser.send(h11.Data(data=event.data))
        elif isinstance(event, h11.EndOfMessage):
            await browser.send(h11.EndOfMessage())
            return None
        else:
            if not browser.has_answer and upstream.is_used:
                raise NotAnswered("the connection was closed")
            raise ConnectionAbortedError


async def _switch(browser: Browser, upstream: Upstream, *, switched: h11.InformationalResponse, way: Way) -> None:
    """Copy bytes both ways until one side closes."""
    headers = to_browser(switched.headers.raw_items(), way, is_switched=True)
    browser.has_answer = True
    await browser.send(h11.InformationalResponse(status_code=101, headers=headers, reason=switched.reason))
    browser.writer.write(upstream.http.trailing_data[0])
    upstream.writer.write(browser.http.trailing_data[0])
    both = [
        asyncio.ensure_future(_copy(browser.reader, upstream.writer)),
        asyncio.ensure_future(_copy(upstream.reader, browser.writer)),
    ]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in both:
            one.cancel()
        await asyncio.gather(*both, return_exceptions=True)
        upstream.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, TimeoutError):
        while data := await reader.read(PIECE_BYTES):
            writer.write(data)
            async with asyncio.timeout(READING_SECONDS):
                await writer.drain()
