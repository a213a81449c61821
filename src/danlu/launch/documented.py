"""The documentation of a variable. Every mode has a table of these; a test finds missing ones."""

from __future__ import annotations

from typing import NamedTuple

DANLU = "your code, Danlu's SDK"
TIONE = "scripts written for TI-ONE"


class Told(NamedTuple):
    what: str
    """What it holds, in one line."""

    read_by: str
    """Who reads it."""
