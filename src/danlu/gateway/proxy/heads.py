"""Headers that are forwarded between a browser and an endpoint. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from danlu.spec.messages.languages import Language, accepted

Headers = list[tuple[bytes, bytes]]

CONSOLE_COOKIE = "danlu_session"
HOP_BY_HOP = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te"),
    *(b"trailer", b"upgrade", b"expect"),
}
FORWARDED = {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip"}
"""Dropped from requests: the proxy sets its own."""

_OWN_CREDENTIALS = (b"bearer dk-", b"bearer jt-")


class Way(NamedTuple):
    """What an endpoint learns about the origin of a request."""

    origin: str
    address: str
    cookie: str
    """Name of the cookie with the browser's grant."""


def cookie_name(*, is_secure: bool) -> str:
    """Browsers accept a `__Host-` cookie only from the host itself, and only if it is secure."""
    return "__Host-danlu_endpoint" if is_secure else "danlu_endpoint"


def get(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> str | None:
    """The first header of this name."""
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), None)


def reader_of(headers: Sequence[tuple[bytes, bytes]]) -> Language | None:
    """The language that a browser reads pages in; None for programs, which read none."""
    return accepted(get(headers, b"accept-language")) if "text/html" in (get(headers, b"accept") or "") else None


def cookies(headers: Sequence[tuple[bytes, bytes]], name: str) -> list[str]:
    """All values of a cookie. Another host of the same domain may have set one of them, so the caller tries each."""
    return [value for key, value in _cookie_pairs(headers) if key == name]


def is_websocket(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    return (get(headers, b"upgrade") or "").lower() == "websocket"


def is_foreign(method: bytes, headers: Sequence[tuple[bytes, bytes]], *, origin: str) -> bool:
    """Whether a page of another origin sent it: the console, another endpoint, or any other site.

    Browsers say so (Sec-Fetch-Site, Origin); programs send neither. A followed link is allowed: no script sent it.
    """
    given = get(headers, b"origin")
    if given is not None and given.lower() != origin:
        return True
    if get(headers, b"sec-fetch-site") in (None, "same-origin", "none"):
        return False
    is_link = get(headers, b"sec-fetch-mode") == "navigate" and get(headers, b"sec-fetch-dest") == "document"
    return not (is_link and method in (b"GET", b"HEAD"))


def to_endpoint(headers: Sequence[tuple[bytes, bytes]], way: Way) -> Headers:
    """Request headers for the job: without credentials of Danlu, and with the proxy's own forwarding headers."""
    dropped = HOP_BY_HOP | FORWARDED | {b"cookie"}
    kept = [(key, value) for key, value in headers if key.lower() not in dropped and not _is_own(key, value)]
    ours = {way.cookie, CONSOLE_COOKIE}
    pairs = [f"{name}={value}" for name, value in _cookie_pairs(headers) if name not in ours]
    if pairs:
        kept.append((b"Cookie", "; ".join(pairs).encode("latin-1")))
    scheme, _, host = way.origin.partition("://")
    kept += [
        (b"X-Forwarded-For", way.address.encode()),
        (b"X-Forwarded-Host", host.encode()),
        (b"X-Forwarded-Proto", scheme.encode()),
    ]
    if is_websocket(headers):
        kept += [(b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]
    return kept


def to_browser(headers: Sequence[tuple[bytes, bytes]], way: Way, *, is_switched: bool = False) -> Headers:
    """Response headers for the browser. A job must not set the cookies that Danlu authenticates with."""
    guarded = (way.cookie.encode(), CONSOLE_COOKIE.encode())
    kept = [
        (key, value)
        for key, value in headers
        if key.lower() not in HOP_BY_HOP and not (key.lower() == b"set-cookie" and _set_name(value) in guarded)
    ]
    return [*kept, (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")] if is_switched else kept


def _set_name(value: bytes) -> bytes:
    """The name under which a browser sends a cookie back: it strips spaces, and sends one without a name as it is."""
    return value.lstrip(b"= \t").partition(b";")[0].partition(b"=")[0].strip()


def _is_own(key: bytes, value: bytes) -> bool:
    """Whether it is an API key or token of Danlu, sent here by mistake."""
    return key.lower() == b"authorization" and value.lower().startswith(_OWN_CREDENTIALS)


def _cookie_pairs(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    pairs = []
    for key, value in headers:
        if key.lower() != b"cookie":
            continue
        for part in value.decode("latin-1").split(";"):
            name, _, content = part.strip().partition("=")
            if name:
                pairs.append((name, content))
    return pairs
