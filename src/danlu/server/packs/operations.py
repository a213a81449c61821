"""Storing packs: bytes are written while no transaction is open."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from danlu.server.state import ServerState
from danlu.store.objects import blobs, packed
from danlu.store.objects.packed import Pack


def store_pack(state: ServerState, pack: Pack, *, project_of: Callable[[Session], int]) -> None:
    """Store all blobs of a pack as a project's, or none. `project_of` checks that it may: before, and again after."""
    if not pack.parts:
        state.database.read(project_of)
        return
    with state.database.writing() as session:
        project_id = project_of(session)
        packed.announce(session, pack, state.now())
    state.blobs.put_pack(pack)
    with state.database.writing() as session:
        project_of(session)
        packed.add_places(session, pack)
        blobs.own_all(session, project_id, pack.sizes(), state.now())
