"""Flavors over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy.orm import Session

from danlu.server import catalog as rules
from danlu.server.flavors import room
from danlu.server.identity import CurrentUser
from danlu.server.paging import Cursor, Limit
from danlu.server.state import ServerState, State
from danlu.spec.flavors import Flavor, suggested
from danlu.store.queries import catalog
from danlu.wire.base import Page
from danlu.wire.flavors import ChangeFlavor, FlavorOut, MakeFlavor

router = APIRouter(tags=["flavors"])


@router.get("/flavors")
def list_flavors(_who: CurrentUser, state: State, cursor: Cursor = None, limit: Limit = 100) -> Page[FlavorOut]:
    """By name: shapes, prices, and how many of each are free now."""
    with state.database.reading() as session:
        found = catalog.listed(session, Flavor, after=rules.place(cursor), limit=limit + 1)
        items = _out(session, state, found[:limit])
    return Page(items=items, next=items[-1].name if len(found) > limit else None)


@router.post("/flavors", status_code=201)
def make_flavor(body: MakeFlavor, who: CurrentUser, state: State) -> FlavorOut:
    """Add a flavor. For admins."""
    made = Flavor.model_validate(body.model_dump())
    with state.database.writing() as session:
        rules.make(session, who, made, state.now())
        return _out(session, state, [made])[0]


@router.get("/flavors/{flavor}")
def get_flavor(flavor: str, _who: CurrentUser, state: State) -> FlavorOut:
    with state.database.reading() as session:
        return _out(session, state, [rules.find(session, Flavor, flavor)])[0]


@router.patch("/flavors/{flavor}")
def change_flavor(flavor: str, body: ChangeFlavor, who: CurrentUser, state: State) -> FlavorOut:
    """Change, disable or enable a flavor. For admins. Jobs keep the shape and the price that they have."""
    with state.database.writing() as session:
        return _out(session, state, [rules.change(session, who, Flavor, flavor, body, state.now())])[0]


@router.delete("/flavors/{flavor}", status_code=204)
def delete_flavor(flavor: str, who: CurrentUser, state: State) -> Response:
    """Forget a flavor. For admins. Jobs that name it keep what it stood for."""
    state.database.write(rules.delete, who, Flavor, flavor, state.now())
    return Response(status_code=204)


@router.get("/flavor-suggestions")
def suggest_flavors(who: CurrentUser, state: State) -> Page[FlavorOut]:
    """Flavors that would fit the nodes there are and are not there yet, at no price. For admins."""
    rules.check_admin(who, "flavor")
    with state.database.reading() as session:
        there = {flavor.name for flavor in catalog.listed(session, Flavor)}
        found = [flavor for flavor in suggested(room.infos(session)) if flavor.name not in there]
        return Page(items=_out(session, state, found))


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
