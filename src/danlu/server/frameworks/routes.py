"""Frameworks over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server import catalog as rules
from danlu.server.identity import CurrentReader, CurrentUser
from danlu.server.paging import Cursor, Limit, page_of
from danlu.server.state import State
from danlu.spec.frameworks import Framework
from danlu.wire.base import Page
from danlu.wire.frameworks import ChangeFramework, FrameworkOut, MakeFramework

router = APIRouter(prefix="/frameworks", tags=["frameworks"])


@router.get("")
def list_frameworks(_who: CurrentReader, state: State, cursor: Cursor = None, limit: Limit = 100) -> Page[FrameworkOut]:
    """By name: what each stands for, and the launch modes it suits."""
    found = state.database.read(rules.listed, Framework, cursor, limit=limit + 1)
    return page_of([_out(framework) for framework in found], limit, lambda framework: framework.name)


@router.post("", status_code=201)
def make_framework(body: MakeFramework, who: CurrentUser, state: State) -> FrameworkOut:
    """Add a framework. For admins."""
    made = Framework.model_validate(body.model_dump())
    state.database.write(rules.make, who, made, state.now())
    return _out(made)


@router.get("/{framework}")
def get_framework(framework: str, _who: CurrentReader, state: State) -> FrameworkOut:
    """A framework."""
    with state.database.reading() as session:
        return _out(rules.find(session, Framework, framework))


@router.patch("/{framework}")
def change_framework(framework: str, body: ChangeFramework, who: CurrentUser, state: State) -> FrameworkOut:
    """Change, disable or enable a framework. For admins. Jobs keep what they were submitted with."""
    with state.database.writing() as session:
        return _out(rules.change(session, who, Framework, framework, body, state.now()))


@router.delete("/{framework}", status_code=204)
def delete_framework(framework: str, who: CurrentUser, state: State) -> Response:
    """Delete a framework. For admins. Existing jobs do not change."""
    state.database.write(rules.delete, who, Framework, framework, state.now())
    return Response(status_code=204)


def _out(framework: Framework) -> FrameworkOut:
    return FrameworkOut.model_validate(framework.model_dump(mode="json"))
