"""Nodes on the wire."""

from __future__ import annotations

from typing import Optional

from danlu.spec.devices import Device
from danlu.wire.base import Answer, Moment


class DeviceOut(Device):
    job: Optional[str] = None
    """Id of the job that holds it."""


class NodeOut(Answer):
    name: str
    engine: str
    is_reachable: bool
    cpus: float
    cpus_reserved: float
    memory_bytes: int
    memory_reserved_bytes: int
    devices: list[DeviceOut] = []
    num_tasks: int = 0
    has_sandbox: bool
    has_own_network: bool
    image_tool: str = ""
    """What fetches images there; empty where jobs with one cannot run."""

    image_problem: str = ""
    missing: list[str] = []
    """What is not isolated there."""

    seen_at: Moment


class HealthOut(Answer):
    status: str
    version: str
    registration: str = "approval"
    """What becomes of those who register: `open` (let in at once), `approval` (wait for an admin) or `closed`."""

    oidc_name: Optional[str] = None
    """What the OpenID Connect provider is called that people can sign in with; None: there is none."""
