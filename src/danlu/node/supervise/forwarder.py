"""Forwards API requests from a gang's private network to the server, and nothing else.

    python -I -S forwarder.py LISTEN_FD LEASH_FD SERVER_URL [SOURCE]

LISTEN_FD is a socket that listens inside the gang's network; this process runs outside. LEASH_FD is the read end of a
pipe that the gang's shims hold open: the forwarder exits when it closes. SOURCE is the loopback address from which
requests are sent if the server is on this machine; any when omitted or empty.

Every connection carries one request. Only paths below PREFIXES are forwarded, to SERVER_URL only, and no sign-in paths:
all jobs share the address of their node, so a job that guesses passwords would get its users locked out. Bodies are
framed strictly (Content-Length or chunked, never both), so that no second request can be smuggled behind the first.
Cookies and forwarding headers are dropped: jobs authenticate with a token.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import ssl
import sys
import urllib.parse
from contextlib import suppress
from typing import NamedTuple, Optional

sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))

from danlu.node.supervise import linux

PREFIXES = ("/api/v1/", "/compat/mlflow/")
FOR_PEOPLE = ("/api/v1/session", "/api/v1/registrations")
MAX_HEAD_BYTES = 64 << 10
CHUNK_BYTES = 256 << 10
MAX_CONNECTIONS = 128
HEAD_SECONDS = 30.0
IDLE_SECONDS = 300.0
"""Maximum silence in either direction; event streams send a keep-alive every 15 s."""

CONNECT_SECONDS = 10.0
NOBODY = 65534
DROPPED = {
    *("connection", "keep-alive", "proxy-connection", "upgrade", "te", "trailer", "host", "cookie", "forwarded"),
    *("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port", "x-real-ip"),
}
_REQUEST_LINE = re.compile(rb"([A-Z]{3,10}) (/[!-~]*) HTTP/1\.[01]")
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*")


class Rejected(Exception):
    """A request that is not forwarded."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Target(NamedTuple):
    """Address of the server."""

    host: str
    port: int
    is_tls: bool
    prefix: str
    """Path before /api/v1 in its URL."""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_tls else 80) else f"{host}:{self.port}"


class Head(NamedTuple):
    """A validated request without its body."""

    data: bytes
    """As it is forwarded."""

    length: int
    is_chunked: bool


def parse_target(url: str) -> Target:
    parts = urllib.parse.urlsplit(url)
    is_tls = parts.scheme == "https"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"expected an http or https address, got {url!r}")
    return Target(parts.hostname, parts.port or (443 if is_tls else 80), is_tls, parts.path.rstrip("/"))


def parse_head(data: bytes, target: Target) -> Head:
    """Validate a request and rewrite it for the server. Raise Rejected."""
    first, *lines = data.split(b"\r\n")
    found = _REQUEST_LINE.fullmatch(first)
    if found is None:
        raise Rejected(400, "expected an HTTP/1.1 request with a path")
    method, path = found.group(1), found.group(2).decode("ascii")
    _check_path(path)
    kept, length, is_chunked = [], None, False
    for line in lines:
        header = _HEADER_LINE.fullmatch(line)
        if header is None:
            raise Rejected(400, "expected `Name: value` headers, one per line")
        name, value = header.group(1).lower().decode("ascii"), header.group(2)
        if name in DROPPED:
            continue
        if name == "content-length":
            if length is not None or not re.fullmatch(rb"[0-9]{1,18}", value):
                raise Rejected(400, "expected one Content-Length, a whole number")
            length = int(value)
        if name == "transfer-encoding":
            if is_chunked or value.lower() != b"chunked":
                raise Rejected(400, "expected no Transfer-Encoding but one `chunked`")
            is_chunked = True
        kept.append(line)
    if is_chunked and length is not None:
        raise Rejected(400, "expected Content-Length or Transfer-Encoding, got both")
    own = [f"Host: {target.authority}".encode(), b"Connection: close"]
    request = b"%s %s HTTP/1.1" % (method, (target.prefix + path).encode())
    return Head(b"\r\n".join([request, *own, *kept]) + b"\r\n\r\n", length or 0, is_chunked)


def _check_path(path: str) -> None:
    plain = urllib.parse.unquote(path.partition("?")[0])
    if not path.startswith(PREFIXES) or any(part in (".", "..") for part in re.split(r"[/\\]", plain)):
        raise Rejected(403, f"only paths below {' and '.join(PREFIXES)} are reachable from a job")
    if any(f"{plain}/".startswith(f"{start}/") for start in FOR_PEOPLE):
        raise Rejected(403, "people sign in and register elsewhere; a job has credentials of its own")


class Forwarder:
    def __init__(self, target: Target, source: str = "") -> None:
        self._target = target
        self._source = (source, 0) if target.host.startswith("127.") and _can_bind(source) else None
        self._tls = ssl.create_default_context() if target.is_tls else None
        self._places = asyncio.Semaphore(MAX_CONNECTIONS)

    async def serve(self, listening: socket.socket, leash: int) -> None:
        """Serve until the other end of the leash closes."""
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(leash, ended.set)
        server = await asyncio.start_server(self._connected, sock=listening, limit=MAX_HEAD_BYTES)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(leash)
            server.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._places:
                await self._forward(reader, writer)
        except Rejected as rejected:
            await _answer(writer, rejected.status, "NotAllowed", str(rejected))
        except (OSError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            pass  # one side disconnected or timed out; the other side sees its connection closed
        finally:
            await _close(writer)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            data = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS)
        except asyncio.LimitOverrunError as error:
            raise Rejected(431, f"expected at most {MAX_HEAD_BYTES} bytes of headers") from error
        head = parse_head(data[:-4], self._target)
        opened = asyncio.open_connection(
            self._target.host, self._target.port, ssl=self._tls, limit=CHUNK_BYTES, local_addr=self._source
        )
        try:
            from_server, to_server = await asyncio.wait_for(opened, CONNECT_SECONDS)
        except (OSError, asyncio.TimeoutError) as error:
            why = str(error) or "no answer"
            await _answer(writer, 502, "ServerUnreachable", f"the Danlu server is not reachable from this node: {why}")
            return
        try:
            to_server.write(head.data)
            await asyncio.wait_for(to_server.drain(), IDLE_SECONDS)
            sending = asyncio.ensure_future(_send_body(head, reader, to_server))
            try:
                # the response may arrive before the whole body is sent, for example an error
                await _copy(from_server, writer)
            finally:
                sending.cancel()
                with suppress(asyncio.CancelledError, OSError, EOFError, asyncio.TimeoutError, Rejected):
                    await sending
        finally:
            await _close(to_server)


async def _send_body(head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        if not head.is_chunked:
            await _copy(reader, writer, head.length)
            return
        while True:
            line = await asyncio.wait_for(reader.readuntil(b"\r\n"), IDLE_SECONDS)
            if re.fullmatch(rb"[0-9A-Fa-f]{1,12}\r\n", line) is None:
                raise Rejected(400, "expected chunks without extensions")
            size = int(line, 16)
            writer.write(line)
            if size == 0:
                break
            await _copy(reader, writer, size)
            if await asyncio.wait_for(reader.readexactly(2), IDLE_SECONDS) != b"\r\n":
                raise Rejected(400, "expected a line end behind a chunk")
            writer.write(b"\r\n")
        writer.write(b"\r\n")  # no trailers
        await writer.drain()
    except (Rejected, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError):
        writer.close()  # the server must not take an incomplete body for a complete one
        raise


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: Optional[int] = None) -> None:
    """Copy `size` bytes, or until the end. Raise EOFError when there are fewer."""
    left = size
    while left is None or left > 0:
        wanted = CHUNK_BYTES if left is None else min(CHUNK_BYTES, left)
        data = await asyncio.wait_for(reader.read(wanted), IDLE_SECONDS)
        if not data:
            if left:
                raise EOFError
            return
        writer.write(data)
        await asyncio.wait_for(writer.drain(), IDLE_SECONDS)
        left = None if left is None else left - len(data)


async def _answer(writer: asyncio.StreamWriter, status: int, error: str, message: str) -> None:
    body = json.dumps({"error": error, "message": message, "fields": {}}).encode()
    head = f"HTTP/1.1 {status} Rejected\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    with suppress(OSError, asyncio.TimeoutError):
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        await asyncio.wait_for(writer.drain(), HEAD_SECONDS)


async def _close(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.TimeoutError):
        writer.close()
        await asyncio.wait_for(writer.wait_closed(), HEAD_SECONDS)


def _can_bind(address: str) -> bool:
    """Whether this machine allows binding to all of 127.0.0.0/8, as Linux does."""
    if not address:
        return False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.bind((address, 0))
    except OSError:
        return False
    return True


def drop_rights() -> None:
    """Switch to an unprivileged user: this process parses untrusted requests and needs only its sockets."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    linux.forbid_new_privileges()


def main() -> None:
    drop_rights()
    listening = socket.socket(fileno=int(sys.argv[1]))
    leash = int(sys.argv[2])
    os.set_blocking(leash, False)
    asyncio.run(Forwarder(parse_target(sys.argv[3]), *sys.argv[4:5]).serve(listening, leash))


if __name__ == "__main__":
    main()
