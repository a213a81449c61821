"""What people are told about a variable. Every mode has a table of these beside it; a test finds what is missing."""

from __future__ import annotations

from typing import NamedTuple

DANLU = "your code, Danlu's SDK"
TIONE = "scripts written for TI-ONE"


class Told(NamedTuple):
    what: str
    """What it holds, in one line."""

    read_by: str
    """Who looks at it."""
