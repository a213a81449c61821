"""What a launch mode, or a contract, adds to a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from danlu.launch.plan import Gate, Mount


class Additions(NamedTuple):
    env: Mapping[str, str]
    files: Mapping[str, str] = {}
    """Absolute path in the task -> text."""

    launcher: tuple[str, ...] = ()
    """Words that come before those of the command."""

    arguments: tuple[str, ...] = ()
    """Words that come after those of the command."""

    prologue: str = ""
    """Lines for bash, run after setup and before the command, in the same shell."""

    shell_name: str = ""
    """What `$0` is for setup and prologue; the shell's own name when empty."""

    gates: tuple[Gate, ...] = ()
    mounts: tuple[Mount, ...] = ()
    user: str = ""
    log_copy: str = ""
    project_id: int = 0
    spared: tuple[str, ...] = ()
    """Programs that a stop does not signal: they end when what they started does."""
