"""Compiled search for the chunk boundaries of artifacts. `danlu` uses it if installed, and finds the same without it.

Importing it raises ImportError if danlu-accel was installed without its compiled core.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

_core = import_module("danlu_accel._cutting")

RULES: int = _core.RULES
"""Version of the rules for boundaries. Another version gives other boundaries."""

next_cut: Callable[[bytes, int, int], int] = _core.next_cut

FILE: str = _core.__file__
"""For processes that cannot import installed packages: it needs nothing but Python."""
