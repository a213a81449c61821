"""What this machine can do for tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from danlu.engines.local import sandbox
from danlu.engines.local.software import Software


@dataclass(frozen=True)
class Abilities:
    """What the probe found, minus what the settings disable."""

    machine: sandbox.Machine | None
    """None without a sandbox."""

    has_own_network: bool
    has_own_uid: bool
    overlay_problem: str
    """Why attempts on several nodes cannot share a network of their own; empty when they can."""

    way_out: str
    """Path of the program that connects a private network to the outside; empty without one."""

    cgroups: Mapping[str, str]
    image_tool: str
    """Path of the program that pulls images; empty when jobs with an image cannot run."""

    image_problem: str
    image_options: tuple[str, ...] = ()
    """Options that are always passed to that program."""

    filters_calls: bool = True
    """Whether seccomp can block system calls that jobs do not need."""

    software: Software = field(default_factory=Software)
    devices: frozenset[str] = frozenset()
    """Real (not simulated) devices, each as `type:number`."""
