"""Flavors over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server import catalog as rules
from danlu.server.flavors import service
from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.paging import Cursor, Limit
from danlu.server.state import State
from danlu.spec.flavors import Flavor
from danlu.wire.base import Page
from danlu.wire.flavors import ChangeFlavor, FlavorOut, MakeFlavor

router = APIRouter(tags=["flavors"])


@router.get("/flavors")
def list_flavors(_who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 100) -> Page[FlavorOut]:
    """By name: shapes, prices, and how many of each are free now."""
    return state.database.read(service.list_flavors, state, cursor, limit)


@router.post("/flavors", status_code=201)
def make_flavor(body: MakeFlavor, who: CurrentUser, state: State) -> FlavorOut:
    """Add a flavor. For admins."""
    return state.database.write(service.make, state, who, Flavor.model_validate(body.model_dump()))


@router.get("/flavors/{flavor}")
def get_flavor(flavor: str, _who: CurrentReader, state: State) -> FlavorOut:
    """A flavor, and how many are free now."""
    return state.database.read(service.get, state, flavor)


@router.patch("/flavors/{flavor}")
def change_flavor(flavor: str, body: ChangeFlavor, who: CurrentUser, state: State) -> FlavorOut:
    """Change, disable or enable a flavor. For admins. Jobs keep the shape and the price that they have."""
    return state.database.write(service.change, state, who, flavor, body)


@router.delete("/flavors/{flavor}", status_code=204)
def delete_flavor(flavor: str, who: CurrentUser, state: State) -> Response:
    """Delete a flavor. For admins. Existing jobs keep their shape and price."""
    state.database.write(rules.delete, who, Flavor, flavor, state.now())
    return Response(status_code=204)


@router.get("/flavor-suggestions")
def suggest_flavors(who: CurrentReader, state: State) -> Page[FlavorOut]:
    """Flavors that would fit the nodes there are and are not there yet, at no price. For admins."""
    rules.check_admin(who, "flavor")
    return Page(items=state.database.read(service.suggest, state))
