"""Documentation of variables. Every mode has a table of them; a test fails for undocumented ones."""

from __future__ import annotations

from typing import NamedTuple

DANLU = "your code, Danlu's SDK"
TIONE = "scripts written for TI-ONE"


class Told(NamedTuple):
    what: str
    """What the variable holds, in one line."""

    read_by: str
    """Which programs read it."""
