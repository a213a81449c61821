"""Messages between server, driver and agents: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from danlu import errors
from danlu.engines.base import Handle
from danlu.errors import DanluError, EngineUnavailable

HandleFields = tuple[str, int, int, str]
Answer = tuple[str, Any, str]
"""("done", value, ""), ("refused", name of an error, its message), ("unknown", None, why), or ("gone", seconds since it
is missing, message): the node is not part of the cluster."""


class Call(NamedTuple):
    """A request to the agent of a node."""

    node: str
    action: str
    arguments: tuple[Any, ...]


class Bundle(NamedTuple):
    """Resources to reserve on one node."""

    node: str
    resources: Mapping[str, float]


def fields_of(handle: Handle) -> HandleFields:
    return handle.job_id, handle.attempt, handle.rank, handle.node


def handle_of(fields: HandleFields) -> Handle:
    job_id, attempt, rank, node = fields
    return Handle(job_id=job_id, attempt=attempt, rank=rank, node=node)


def value_of(answer: Answer) -> Any:
    """Return the value of an answer. Raise an error for any other outcome."""
    kind, value, message = answer
    if kind == "done":
        return value
    if kind == "refused":
        named = getattr(errors, value, None)
        raise (named if isinstance(named, type) and issubclass(named, DanluError) else EngineUnavailable)(message)
    raise EngineUnavailable(message)
