"""Middleware for Tencent Cloud's SDK: recognizes its requests and verifies their signatures."""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from danlu.auth import secrets, signatures
from danlu.auth.signatures import CosClaim, StoreRequest, Tc3Claim
from danlu.errors import DanluError
from danlu.server.admission.bodies import STRANGER_BYTES, BodyLimit
from danlu.server.admission.middleware import Limits, address_of
from danlu.server.bodies.receiving import announced_bytes
from danlu.server.state import ServerState
from danlu.server.tencent import cos
from danlu.server.tencent.actions import ActionPool, Actions, error
from danlu.server.tencent.cos_reply import Reply, refused, send_reply
from danlu.server.tencent.inner import Inner
from danlu.server.tencent.seen import Seen
from danlu.store.queries import people

log = logging.getLogger(__name__)

PREFIX = "/compat/tencent"
STORE_PREFIX = f"{PREFIX}/cos"
SKEW_SECONDS = 300
BEFORE_SECONDS = 60
"""The storage's SDK lets a signature begin this long before it was created."""

MAX_HOST_CHARS = 253
"""Limit of a host name in DNS."""

MAX_NAMES = 100
"""Headers or parameters that a signature names, and parameters of a request. The SDKs name about ten. Checking costs
their product, and whoever asks for it is unknown."""

_STORE_HOST = re.compile(r"(?:(?P<bucket>[a-z0-9.-]+)\.)?(?:service\.)?cos(?:-internal)?\.[a-z0-9.-]+", re.ASCII)
_STORE_DOMAINS = (".myqcloud.com", ".tencentcos.cn")
HOW_TO_SIGN = "make a key that signs: danlu keys new --signs"


class Refused(Exception):
    """A request that is rejected."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class _Route(NamedTuple):
    """What a request is counted as; other requests have a route of the application there."""

    path: str


class Door:
    """ASGI middleware outside of admission. Requests of other clients are passed on.

    Whoever sends a request is unknown until its signature is checked: up to there it has the turns and the memory of an
    unauthenticated client. What it leads to is a request with a key, which admission limits as any other.
    """

    def __init__(self, app: ASGIApp, state: ServerState, actions: Actions, limits: Limits) -> None:
        self._app, self._state, self._limits = app, state, limits
        self._pool = ActionPool(actions, url=state.settings.url)
        keep = 2.0 * SKEW_SECONDS + BEFORE_SECONDS
        self._seen = Seen(lambda: state.now().timestamp(), keep_seconds=keep)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if path == STORE_PREFIX or path.startswith(f"{STORE_PREFIX}/"):
            await self._store(scope, receive, send=send, path=path[len(STORE_PREFIX) :] or "/")
        elif _hostname(host).endswith(_STORE_DOMAINS):
            await self._store(scope, receive, send=send, path=path)
        elif path.rstrip("/") == PREFIX or (path == "/" and "x-tc-action" in headers):
            scope["route"] = _Route(PREFIX)
            await JSONResponse({"Response": await self._action(scope, receive)})(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _action(self, scope: Scope, receive: Receive) -> dict[str, Any]:
        """Answer a request of the API. Failures have the status 200, as the SDK expects."""
        headers, request_id = Headers(scope=scope), str(uuid.uuid4())
        try:
            signed = await self._tc3(scope, headers, receive=receive)
            answer = await self._pool.answer(
                signed.action, signed.values, api_key=signed.api_key, region=headers.get("x-tc-region", "")
            )
        except Refused as refusal:
            answer = error(refusal.code, refusal.message)
        except DanluError as failure:
            answer = error("InternalError" if failure.status >= 500 else "RequestLimitExceeded", failure.message)
        except Exception:
            log.exception("the door failed at %s (request %s)", headers.get("x-tc-action", ""), request_id)
            answer = error("InternalError", "something is wrong in the server; its log has the request's id")
        return {**answer, "RequestId": request_id}

    async def _tc3(self, scope: Scope, headers: Headers, *, receive: Receive) -> _SignedAction:
        if scope["method"] != "POST" or headers.get("content-type", "").split(";")[0] != "application/json":
            raise Refused("UnsupportedProtocol", "expected a POST with JSON")
        claim = signatures.parse_tc3(headers.get("authorization", ""))
        if claim is None:
            told = "expected Authorization: TC3-HMAC-SHA256 with content-type and host signed"
            raise Refused("AuthFailure.InvalidAuthorization", told)
        _check_names(claim.headers)
        timestamp = self._timestamp(claim, headers.get("x-tc-timestamp", ""))
        secret = await self._secret(scope, claim.key)
        async with self._room(scope, headers):
            body = await _body(receive, self._state.settings.max_body_bytes)
        expected = signatures.tc3_signature(secret, claim, timestamp=timestamp, headers=headers, body=body)
        if not secrets.same(expected, claim.signature):
            raise Refused("AuthFailure.SignatureFailure", "the signature is not that of this request and key")
        action = headers.get("x-tc-action", "")
        version = self._pool.actions.VERSION
        if headers.get("x-tc-version", "") != version or claim.service != "tione":
            got = f"{claim.service} {headers.get('x-tc-version', '')}"
            raise Refused("NoSuchVersion", f"{action}: expected tione {version}, got {got}")
        self._use_once(claim, action, trace=headers.get("x-tc-traceid", ""))
        return _SignedAction(action, _values(body), f"{claim.key}.{secret}")

    def _timestamp(self, claim: Tc3Claim, text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 12):
            raise Refused("MissingParameter", f"X-TC-Timestamp: expected seconds since 1970, got {text[:20]!r}")
        timestamp = int(text)
        away = abs(self._state.now().timestamp() - timestamp)
        if away > SKEW_SECONDS or claim.date != signatures.tc3_date(timestamp):
            told = f"expected a clock within {SKEW_SECONDS} s of the server's, got one that is {away:.0f} s away"
            raise Refused("AuthFailure.SignatureExpire", told)
        return timestamp

    def _use_once(self, claim: Tc3Claim, action: str, *, trace: str) -> None:
        """Reject a repeated request. Two reads within a second may differ only in their trace, which is not signed:
        reads may be repeated with another trace, changes may not."""
        more = trace if action in self._pool.actions.REPEATABLE else ""
        if not self._seen.note(f"{claim.signature} {action} {more}"):
            told = f"{action}: this request was made already; sign it again"
            raise Refused("AuthFailure.SignatureExpire", told)

    async def _store(self, scope: Scope, receive: Receive, *, send: Send, path: str) -> None:
        """Answer a request to the object storage."""
        scope["route"] = _Route(STORE_PREFIX)
        bucket = _bucket_of(_hostname(Headers(scope=scope).get("host", "")))
        asked = _Asked(scope["method"], bucket, path.lstrip("/"))
        try:
            await cos.answer(await self._cos(scope, asked, path=path), receive, send=send)
        except Refused as refusal:
            await send_reply(asked, refused(asked, refusal.code, status=403, message=refusal.message), send=send)
        except DanluError as failure:
            await send_reply(asked, _failure(asked, failure), send=send)

    async def _cos(self, scope: Scope, asked: _Asked, *, path: str) -> cos.StoreCall:
        headers = dict(Headers(scope=scope))
        claim = signatures.parse_cos(headers.get("authorization", ""))
        if claim is None:
            raise Refused("AccessDenied", "expected Authorization: q-sign-algorithm=sha1 with host among its headers")
        if len(_hostname(headers.get("host", ""))) > MAX_HOST_CHARS:
            raise Refused("AccessDenied", f"host: expected at most {MAX_HOST_CHARS} characters")
        self._check_time(claim)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        _check_names(claim.headers, claim.query, [name for name, _ in query])
        request = StoreRequest(asked.method, path, query, headers)
        if asked.bucket and (left := signatures.unsigned_query(claim, request)):
            raise Refused("AccessDenied", f"the signature does not cover {', '.join(left)}")
        secret = await self._secret(scope, claim.key)
        if not any(
            secrets.same(signatures.cos_signature(secret, claim, request=one), claim.signature)
            for one in _with_hosts(request)
        ):
            raise Refused("SignatureDoesNotMatch", "the signature is not that of this request and key")

        def is_new() -> bool:
            return self._seen.note(claim.signature)

        settings = self._state.settings
        inner = Inner(self._app, scope, host=settings.url.partition("//")[2], api_key=f"{claim.key}.{secret}")
        return cos.StoreCall(*asked, dict(query), headers, is_new, inner)

    def _check_time(self, claim: CosClaim) -> None:
        """A signature is valid for minutes only, whatever it claims."""
        now = self._state.now().timestamp()
        if now < claim.begins_at - SKEW_SECONDS:
            raise Refused("RequestTimeTooSkewed", f"expected a clock within {SKEW_SECONDS} s of the server's")
        if now > min(claim.ends_at, claim.begins_at + BEFORE_SECONDS + SKEW_SECONDS):
            raise Refused("RequestTimeTooSkewed", "the signature has expired; is the clock right?")

    async def _secret(self, scope: Scope, key: str) -> str:
        async with self._limits.turns.turn(address_of(scope)):
            return await run_in_threadpool(self._find_secret, key)

    @asynccontextmanager
    async def _room(self, scope: Scope, headers: Headers) -> AsyncIterator[None]:
        """Memory for the body of a request that nobody has signed, for all that is known."""
        announced = announced_bytes(headers)
        size = BodyLimit(self._state.settings.max_body_bytes).in_memory(announced)
        if size <= STRANGER_BYTES:
            yield
            return
        await self._limits.memory.reserve(address_of(scope), size)
        try:
            yield
        finally:
            self._limits.memory.release(address_of(scope), size)

    def _find_secret(self, key: str) -> str:
        """The secret of a key pair, if it is one that signs."""
        key_id = key.removeprefix(secrets.KEY_PREFIX)
        found = self._state.database.read(_key_digest, key_id) if key != key_id else None
        if found is None:
            raise Refused("AuthFailure.SecretIdNotFound", f"the key is unknown or was deleted; {HOW_TO_SIGN}")
        secret = self._state.sealer.signing_secret(key_id)
        if not secrets.same(found, secrets.digest(secret)):
            raise Refused("AuthFailure.SecretIdNotFound", f"{key} cannot sign requests; {HOW_TO_SIGN}")
        return secret


class _SignedAction(NamedTuple):
    action: str
    values: dict[str, Any]
    api_key: str


class _Asked(NamedTuple):
    """What a request to the storage refers to."""

    method: str
    bucket: str
    key: str


def _key_digest(session: Session, key_id: str) -> str | None:
    found = people.get_key(session, key_id)
    return None if found is None else found[0].digest


def _values(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError as problem:
        raise Refused("InvalidParameter", f"the body is not JSON: {problem}") from problem
    if not isinstance(found, dict):
        raise Refused("InvalidParameter", f"expected an object, got {type(found).__name__}")
    return found


async def _body(receive: Receive, most_bytes: int) -> bytes:
    found = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused("ClientNetworkError", "the connection broke")
        found += message.get("body", b"")
        if len(found) > most_bytes:
            raise Refused("RequestSizeLimitExceeded", f"expected at most {most_bytes} bytes")
        if not message.get("more_body", False):
            return bytes(found)


def _with_hosts(request: StoreRequest) -> list[StoreRequest]:
    """The request, and the same with the host as the SDK signs it by default: without the port."""
    name = _hostname(request.headers.get("host", ""))
    return [request, request._replace(headers={**request.headers, "host": name})]


def _bucket_of(name: str) -> str:
    """The bucket that a host name of the storage begins with; empty when there is none."""
    # the pattern is tried at each dot: a name that fills the head of a request took it many seconds
    found = _STORE_HOST.fullmatch(name) if len(name) <= MAX_HOST_CHARS else None
    bucket = (found["bucket"] or "") if found is not None else ""
    return bucket if bucket != "service" else ""


def _check_names(*lists: Sequence[str]) -> None:
    for names in lists:
        if len(names) > MAX_NAMES or len(set(names)) < len(names):
            told = f"expected at most {MAX_NAMES} headers and {MAX_NAMES} parameters, each named once"
            raise Refused("AuthFailure.InvalidAuthorization", told)


def _hostname(host: str) -> str:
    """Without the port, in lower case."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _failure(asked: _Asked, failure: DanluError) -> Reply:
    if failure.status == 429:
        return refused(asked, "SlowDown", status=503, message=failure.message)
    is_ours = failure.status >= 500
    return refused(
        asked,
        "InternalError" if is_ours else "InvalidArgument",
        status=500 if is_ours else 400,
        message=failure.message,
    )
