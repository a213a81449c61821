"""Shells in running tasks on the wire."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Optional

from pydantic import AfterValidator, Field

from danlu.wire.base import Answer, Body

MAX_INPUT_CHARS = 1 << 17


def _base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("expected base64") from error
    return text


class TerminalSizeIn(Body):
    rows: int = Field(ge=1, le=1000)
    columns: int = Field(ge=1, le=1000)


class OpenTerminal(Body):
    rank: int = Field(default=0, ge=0, le=1_000_000)
    command: Optional[list[str]] = Field(default=None, min_length=1, max_length=1000)
    """A shell when omitted."""

    size: Optional[TerminalSizeIn] = None
    """Gives it a terminal; without, it has plain input and output."""


class TerminalOut(Answer):
    id: str
    job: str
    rank: int


class TerminalInput(Body):
    data: Annotated[str, AfterValidator(_base64)] = Field(max_length=MAX_INPUT_CHARS)
    """Base64; empty when there is no more to come."""


class TerminalOutput(Answer):
    data: str
    """Base64."""

    next: int
    """What to ask for next."""

    exit_code: Optional[int] = None
    """Set with the last output."""
