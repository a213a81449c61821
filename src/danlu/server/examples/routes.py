"""Examples over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from danlu.server.examples import service
from danlu.server.identity import CurrentReader
from danlu.server.state import State
from danlu.wire.base import Page
from danlu.wire.examples import ExampleOut, ExampleRow

router = APIRouter(prefix="/examples", tags=["examples"])


@router.get("")
def list_examples(_who: CurrentReader, state: State) -> Page[ExampleRow]:
    """All examples, those to begin with first, each with what it needs and whether this cluster has it."""
    return Page(items=state.database.read(service.list_examples, state.now()))


@router.get("/{example}")
def get_example(example: str, _who: CurrentReader, state: State) -> ExampleOut:
    """An example with its files. To run it, send those of its code as a tree, and the job with the tree's digest."""
    return state.database.read(service.get_example, example, state.now())
