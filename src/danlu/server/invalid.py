"""Errors that name the invalid field of a request."""

from __future__ import annotations

from danlu.errors import InvalidInput, InvalidSpec


def bad_field(field: str, problem: str) -> InvalidInput:
    return InvalidInput(f"{field}: {problem}", fields={field: problem})


def bad_spec(field: str, problem: str) -> InvalidSpec:
    """The same for a field of a job."""
    return InvalidSpec(f"invalid job: {field}: {problem}", fields={field: problem})
