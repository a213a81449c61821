"""Endpoints of a job: what people reach in it while it runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

JUPYTER, TENSORBOARD = "jupyter", "tensorboard"
SERVICES = (JUPYTER, TENSORBOARD)
"""Programs that Danlu starts in the job when they are opened."""

MAX_ENDPOINTS = 20
_EXPECTED = "expected jupyter, tensorboard or a port from 1 to 65535"


def check_endpoint(value: object) -> str:
    """Return the name of an endpoint: a service, or a port as text. Raise ValueError."""
    if isinstance(value, str) and value in SERVICES:
        return value
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or not (text.isascii() and text.isdigit() and len(text) <= 5):
        raise ValueError(f"{_EXPECTED}, got {value!r}"[:200])
    if text.startswith("0") or int(text) > 65535:
        raise ValueError(f"{_EXPECTED}, got {value!r}")
    return text


EndpointName = Annotated[str, BeforeValidator(check_endpoint)]
