"""Post JSON to a URL that need not be a Danlu server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from danlu import __version__
from danlu.client.config import is_loopback
from danlu.errors import InvalidInput, NotAllowed, ServerUnreachable, Unavailable
from danlu.transfer.carrier import CONNECT_SECONDS, READ_SECONDS

PASSING = {408, 425, 429}
"""Status codes worth a retry, in addition to all 5xx."""

_MAX_TOLD = 300


def post_json(url: str, values: Mapping[str, Any], *, key: str, request_id: str) -> None:
    """Post, and return when it was accepted (any 2xx).

    Raises Unavailable when retrying later makes sense. `request_id` is sent as Idempotency-Key, so that the receiver
    can detect repeated requests.
    """
    headers = {
        "User-Agent": f"danlu/{__version__}",
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Idempotency-Key": request_id,
    }
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    content = json.dumps(values, ensure_ascii=False).encode()
    try:
        answer = httpx.post(url, content=content, headers=headers, timeout=timeout, trust_env=not is_loopback(url))
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise InvalidInput(f"expected an address such as https://tester.example.org/results, got {url!r}") from error
    except httpx.TransportError as error:
        raise ServerUnreachable(f"{url} does not answer: {error}") from error
    if answer.is_success:
        return
    words = answer.text[:_MAX_TOLD].strip() or answer.reason_phrase
    told = f"{url} answered {answer.status_code}: {words}"
    if answer.is_server_error or answer.status_code in PASSING:
        raise Unavailable(told)
    if answer.status_code in (401, 403):
        raise NotAllowed(f"{told}; is the key one of that server?")
    raise InvalidInput(told)
