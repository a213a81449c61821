"""Signing in by OpenID Connect: the provider is asked while no transaction is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from danlu.auth.identity import Origin
from danlu.server.oidc import service
from danlu.server.state import ServerState
from danlu.wire.auth import SessionOut

if TYPE_CHECKING:
    from danlu.server.oidc.provider import Provider


def finish(
    state: ServerState, provider: Provider | None, *, cookie: str, given: dict[str, str], origin: Origin
) -> tuple[SessionOut, str] | None:
    """Sign in the user who returned from the provider; None when an admin has to approve them first."""
    person = service.who_came_back(state, provider, cookie=cookie, given=given)
    return state.database.write(service.arrive, state, person, origin)
