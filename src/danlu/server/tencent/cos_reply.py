"""Responses in the format of the object storage."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from starlette.types import Send

from danlu.server.tencent.cos_xml import document
from danlu.server.tencent.inner import InnerAnswer

CODES = {
    401: (403, "InvalidAccessKeyId"),
    403: (403, "AccessDenied"),
    404: (404, "NoSuchKey"),
    408: (400, "RequestTimeout"),
    409: (409, "OperationAborted"),
    413: (400, "EntityTooLarge"),
    416: (416, "InvalidRange"),
    422: (400, "InvalidArgument"),
    429: (503, "SlowDown"),
    507: (507, "InsufficientStorage"),
}
"""Status of our API -> status and code of the storage."""

_CASES = {
    name.lower(): name
    for name in ("Accept-Ranges", "Content-Length", "Content-Range", "Content-Type", "ETag", "Last-Modified")
}
_DROPPED = {"transfer-encoding", "connection", "content-type"}


class Reply(NamedTuple):
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Asked(Protocol):
    """What an error refers to."""

    @property
    def method(self) -> str: ...
    @property
    def bucket(self) -> str: ...
    @property
    def key(self) -> str: ...


def refused(call: Asked, code: str, *, status: int, message: str) -> Reply:
    values = {"Code": code, "Message": message, "Resource": f"/{call.bucket}/{call.key}", "RequestId": _id()}
    return Reply(status, document("Error", values), {"x-cos-error-code": code} if call.method == "HEAD" else {})


def failed(call: Asked, found: InnerAnswer) -> Reply:
    status, code = CODES.get(found.status, (500, "InternalError"))
    if code == "NoSuchKey" and (not call.key or found.message.startswith("no bucket")):
        code = "NoSuchBucket"
    return refused(call, code, status=status, message=found.message or f"answered with {found.status}")


def relayed(found: InnerAnswer) -> Reply:
    """A response without a body, with its headers."""
    return Reply(found.status, headers={name: text for name, text in found.headers.items() if name not in _DROPPED})


def cased(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers with names in the storage's spelling, which the SDK expects of some."""
    return [
        (_CASES.get(name.lower(), name).encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in headers.items()
    ]


async def send_reply(call: Asked, reply: Reply, *, send: Send) -> None:
    headers = {
        **({"content-type": "application/xml"} if reply.body else {}),
        **{name.lower(): value for name, value in reply.headers.items()},
        "x-cos-request-id": _id(),
    }
    if reply.status not in (204, 304):
        headers.setdefault("content-length", str(len(reply.body)))
    body = b"" if call.method == "HEAD" else reply.body
    if call.method == "HEAD" and reply.status >= 400:
        headers["content-length"] = "0"
    await send({"type": "http.response.start", "status": reply.status, "headers": cased(headers)})
    await send({"type": "http.response.body", "body": body})


def _id() -> str:
    return uuid.uuid4().hex
