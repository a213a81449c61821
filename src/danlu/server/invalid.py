"""Saying which field of a request has a value that cannot be used."""

from __future__ import annotations

from danlu.errors import InvalidInput, InvalidSpec


def bad_field(field: str, problem: str) -> InvalidInput:
    return InvalidInput(f"{field}: {problem}", fields={field: problem})


def bad_spec(field: str, problem: str) -> InvalidSpec:
    """The same for a field of a job."""
    return InvalidSpec(f"the job cannot be used: {field}: {problem}", fields={field: problem})
