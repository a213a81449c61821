"""What a launch mode adds to a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Additions(NamedTuple):
    env: Mapping[str, str]
    files: Mapping[str, str] = {}
    """Absolute path in the task -> text."""

    launcher: tuple[str, ...] = ()
    """Words that come before those of the command."""

    spared: tuple[str, ...] = ()
    """Programs that a stop does not signal: they end when what they started does."""
