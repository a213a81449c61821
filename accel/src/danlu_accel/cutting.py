"""Compiled search for the chunk boundaries of artifacts. `danlu` uses it if installed, and finds the same without it.

Importing it raises ImportError if danlu-accel was installed without its compiled core.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Union

_core = import_module("danlu_accel._cutting")

RULES: int = _core.RULES
"""Version of the rules for boundaries. Another version gives other boundaries."""

TAKES_BUFFERS: bool = _core.TAKES_BUFFERS
"""Whether it takes any object with memory of its own, such as a bytearray."""

next_cut: Callable[[Union[bytes, bytearray], int, int], int] = _core.next_cut

FILE = str(_core.__file__)
"""For processes that cannot import installed packages: it needs nothing but Python."""
