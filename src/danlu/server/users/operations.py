"""Registering: the password is hashed while no transaction is open."""

from __future__ import annotations

from danlu.auth.identity import Origin
from danlu.errors import NotAllowed
from danlu.server.people import sign_in
from danlu.server.state import ServerState
from danlu.server.users import registrations
from danlu.wire.people import Register, RegisteredOut


def register(state: ServerState, body: Register, origin: Origin) -> RegisteredOut:
    way = state.settings.registration
    if way == "closed":
        raise NotAllowed("this server does not accept registrations; ask an admin for an invitation")
    state.database.write(sign_in.count_registering, origin, state.now())
    hashed = state.passwords.hash(body.password)
    store = registrations.let_in if way == "open" else registrations.ask
    return state.database.write(store, state, body, hashed, origin)
