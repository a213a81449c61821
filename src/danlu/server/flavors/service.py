"""Flavors as users see them: shapes, prices, and how many fit the cluster, in total and now."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.server import catalog as rules
from danlu.server.flavors import room
from danlu.server.paging import cut
from danlu.server.state import ServerState
from danlu.spec.flavors import Flavor, suggested
from danlu.store.queries import catalog
from danlu.wire.base import Page
from danlu.wire.flavors import ChangeFlavor, FlavorOut


def list_flavors(session: Session, state: ServerState, cursor: str | None, limit: int) -> Page[FlavorOut]:
    """By name."""
    found = catalog.listed(session, Flavor, after=rules.place(cursor), limit=limit + 1)
    flavors, after = cut(found, limit, lambda flavor: flavor.name)
    return Page(items=_out(session, state, flavors), next=after)


def get(session: Session, state: ServerState, name: str) -> FlavorOut:
    return _out(session, state, [rules.find(session, Flavor, name)])[0]


def make(session: Session, state: ServerState, who: UserIdentity, flavor: Flavor) -> FlavorOut:
    rules.make(session, who, flavor, state.now())
    return _out(session, state, [flavor])[0]


def change(session: Session, state: ServerState, who: UserIdentity, name: str, body: ChangeFlavor) -> FlavorOut:
    return _out(session, state, [rules.change(session, who, Flavor, name, body, state.now())])[0]


def suggest(session: Session, state: ServerState) -> list[FlavorOut]:
    """Flavors that match the cluster's nodes and do not exist yet."""
    there = {flavor.name for flavor in catalog.listed(session, Flavor)}
    return _out(session, state, [one for one in suggested(room.infos(session)) if one.name not in there])


def _out(session: Session, state: ServerState, flavors: Sequence[Flavor]) -> list[FlavorOut]:
    infos = room.infos(session) if flavors else []
    free, all_ = room.free_nodes(session, infos) if infos else [], room.empty(infos)
    return [
        FlavorOut(
            **flavor.model_dump(exclude={"device"}),
            device=str(flavor.device),
            currency=state.settings.currency,
            num_free=room.count(flavor, free),
            num_total=room.count(flavor, all_),
        )
        for flavor in flavors
    ]
