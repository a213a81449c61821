"""Where Danlu cuts artifacts into chunks, compiled. `danlu` uses it where it is installed; the places are the same.

Importing it raises ImportError where danlu-accel was installed without its compiled core.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

_core = import_module("danlu_accel._cutting")

RULES: int = _core.RULES
"""Which places are cuts. Another number, other places."""

next_cut: Callable[[bytes, int, int], int] = _core.next_cut
