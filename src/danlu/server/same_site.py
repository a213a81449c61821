"""Whether a page of this server sent a request, according to the browser."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from danlu.errors import NotAllowed
from danlu.server.state import State

OWN = ("same-origin", "none")
"""`none`: a typed address or a bookmark. `same-site` is another site, such as an endpoint of a job."""


async def check_same_site(request: Request, state: State) -> None:
    """Reject requests from pages of other sites: they could sign a user in to an attacker's account.

    Browsers send Sec-Fetch-Site, older ones Origin; programs send neither.
    """
    sent_by, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    own = {request.headers.get("Host", ""), _host_of(state.settings.reached_at)} - {""}
    is_own = origin is None or _host_of(origin) in own if sent_by is None else sent_by in OWN
    if not is_own:
        raise NotAllowed("this was sent by a page of another site; open the sign-in page of this server yourself")


SameSite = Annotated[None, Depends(check_same_site)]


def _host_of(url: str) -> str:
    """Host and port; empty for a page that has none, such as a file."""
    return urlsplit(url).netloc
