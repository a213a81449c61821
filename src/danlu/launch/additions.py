"""What a launch mode or a contract adds to a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from danlu.launch.plan import Gate, Mount


class Additions(NamedTuple):
    env: Mapping[str, str]
    files: Mapping[str, str] = {}
    """Absolute path in the task -> text."""

    launcher: tuple[str, ...] = ()
    """Words before the command."""

    arguments: tuple[str, ...] = ()
    """Arguments after the command."""

    prologue: str = ""
    """Bash lines that run after setup and before the command, in the same shell."""

    shell_name: str = ""
    """`$0` in setup and prologue; the shell's own name when empty."""

    gates: tuple[Gate, ...] = ()
    mounts: tuple[Mount, ...] = ()
    user: str = ""
    log_copy: str = ""
    project_id: int = 0
    spared: tuple[str, ...] = ()
    """Programs that do not receive SIGTERM on a stop: they exit when their child processes have."""
