"""What this machine can do for tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from danlu.engines.local import sandbox
from danlu.engines.local.software import Software


@dataclass(frozen=True)
class Abilities:
    """What the probe found, less what the settings switch off."""

    machine: sandbox.Machine | None
    """None without a sandbox."""

    has_own_network: bool
    has_own_uid: bool
    overlay_problem: str
    """Why a network of its own cannot span several nodes; empty when it can."""

    way_out: str
    """The program that leads out of a network of its own; empty when there is none."""

    cgroups: Mapping[str, str]
    image_tool: str
    """The program that fetches images; empty when jobs with one cannot run."""

    image_problem: str
    image_options: tuple[str, ...] = ()
    """What that program is always told."""

    filters_calls: bool = True
    """Whether system calls that jobs have no use for can be refused."""

    software: Software = field(default_factory=Software)
    devices: frozenset[str] = frozenset()
    """Those that are not simulated, `type:number` each."""
