"""Signatures of requests in the two schemes of Tencent Cloud's SDKs. Pure: nothing is looked up, no clock is read.

TC3-HMAC-SHA256   its API: the body, the content type, the host and the timestamp; not the action
q-sign (sha1)     its object storage: the method, the path, the query and headers; not the body
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import NamedTuple
from urllib.parse import quote

TC3 = "TC3-HMAC-SHA256"
TC3_HEADERS = ("content-type", "host")
"""Headers that a TC3 signature must cover."""

_TC3_CLAIM = re.compile(
    r"TC3-HMAC-SHA256 Credential=(?P<key>[^/,\s]+)/(?P<date>\d{4}-\d\d-\d\d)/(?P<service>[a-z0-9_-]+)/tc3_request, ?"
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})",
    re.ASCII,
)
_SIGN_TIME = re.compile(r"(\d{1,12});(\d{1,12})", re.ASCII)


class Tc3Claim(NamedTuple):
    """The fields of a TC3 request's Authorization header."""

    key: str
    """The id of the key pair."""

    date: str
    service: str
    headers: tuple[str, ...]
    signature: str


class CosClaim(NamedTuple):
    """The fields of an object storage request's Authorization header."""

    key: str
    begins_at: int
    ends_at: int
    headers: tuple[str, ...]
    query: tuple[str, ...]
    signature: str


class StoreRequest(NamedTuple):
    """A request to the object storage, as received."""

    method: str
    path: str
    """Decoded, from the bucket on."""

    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    """By names in lower case."""


def parse_tc3(header: str) -> Tc3Claim | None:
    """None when it is malformed, or does not cover the required headers."""
    found = _TC3_CLAIM.fullmatch(header.strip())
    if found is None:
        return None
    headers = tuple(found["headers"].split(";"))
    if not set(TC3_HEADERS) <= set(headers):
        return None
    return Tc3Claim(found["key"], found["date"], found["service"], headers, found["signature"])


def tc3_signature(secret: str, claim: Tc3Claim, *, timestamp: int, headers: Mapping[str, str], body: bytes) -> str:
    """The expected signature of a POST with this body. SDKs sign the path `/` for every path."""
    signed = "".join(f"{name}:{headers.get(name, '').strip()}\n" for name in claim.headers)
    request = "\n".join(["POST", "/", "", signed, ";".join(claim.headers), hashlib.sha256(body).hexdigest()])
    scope = f"{claim.date}/{claim.service}/tc3_request"
    text = "\n".join([TC3, str(timestamp), scope, hashlib.sha256(request.encode()).hexdigest()])
    key = f"TC3{secret}".encode()
    for part in (claim.date, claim.service, "tc3_request"):
        key = hmac.new(key, part.encode(), "sha256").digest()
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def tc3_date(timestamp: int) -> str:
    """The date that a claim with this timestamp carries."""
    return datetime.fromtimestamp(timestamp, timezone.utc).strftime("%Y-%m-%d")


def parse_cos(header: str) -> CosClaim | None:
    """None when it is malformed, or does not cover the host, which names the bucket."""
    pairs = [part.partition("=") for part in header.strip().split("&")]
    found = {name: value for name, _, value in pairs}
    time = _SIGN_TIME.fullmatch(found.get("q-sign-time", ""))
    if found.get("q-sign-algorithm") != "sha1" or time is None or found.get("q-key-time") != found["q-sign-time"]:
        return None
    headers = tuple(name for name in found.get("q-header-list", "").split(";") if name)
    query = tuple(name for name in found.get("q-url-param-list", "").split(";") if name)
    key, signature = found.get("q-ak", ""), found.get("q-signature", "")
    if "host" not in headers or not key or re.fullmatch(r"[0-9a-f]{40}", signature) is None:
        return None
    return CosClaim(key, int(time[1]), int(time[2]), headers, query, signature)


def cos_signature(secret: str, claim: CosClaim, *, request: StoreRequest) -> str:
    """The expected signature of the request."""
    values = {_quoted(name).lower(): value for name, value in request.query}
    query = "&".join(f"{name}={_quoted(values.get(name, ''))}" for name in claim.query)
    headers = "&".join(f"{name}={_quoted(request.headers.get(name, ''))}" for name in claim.headers)
    text = f"{request.method.lower()}\n{request.path}\n{query}\n{headers}\n"
    time = f"{claim.begins_at};{claim.ends_at}"
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    key = hmac.new(secret.encode(), time.encode(), "sha1").hexdigest()
    return hmac.new(key.encode(), f"sha1\n{time}\n{digest}\n".encode(), "sha1").hexdigest()


def unsigned_query(claim: CosClaim, request: StoreRequest) -> list[str]:
    """Names in the query that the signature does not cover."""
    return sorted({name for name, _ in request.query if _quoted(name).lower() not in claim.query})


def _quoted(text: str) -> str:
    return quote(text, "-_.~")
