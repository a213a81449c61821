"""Nodes on the wire."""

from __future__ import annotations

from typing import Optional

from pydantic import Field, field_validator

from danlu.spec.devices import Device
from danlu.spec.messages.catalogue import Message
from danlu.wire.base import Answer, Body, Moment


class DeviceOut(Device):
    job: Optional[str] = None
    """Id of the job that holds it."""


class DrainNode(Body):
    reason: str = Field(min_length=1, max_length=300)
    """Why nothing new is started there: people whose jobs wait for it read this."""

    evict: bool = False
    """Whether preemptible jobs that run there have to leave: they get their grace, and go back into the queue."""

    @field_validator("reason")
    @classmethod
    def _is_a_sentence(cls, value: str) -> str:
        told = " ".join(value.split())
        if not told:
            raise ValueError("expected a few words such as 'kernel update'")
        return told


class DrainOut(Answer):
    reason: str
    by: str
    """Name of the admin."""

    at: Moment
    evict: bool = False


class NodeOut(Answer):
    name: str
    engine: str
    is_reachable: bool
    cpus: float
    cpus_reserved: float
    memory_bytes: int
    memory_reserved_bytes: int
    cpus_used: Optional[float] = None
    """Cores that the tasks there were last seen to use, together; None: nothing was measured."""

    memory_used_bytes: Optional[int] = None
    devices: list[DeviceOut] = []
    num_tasks: int = 0
    has_sandbox: bool
    has_own_network: bool
    image_tool: str = ""
    """What fetches images there; empty where jobs with one cannot run."""

    image_problem: str = ""
    image_problem_said: Optional[Message] = None
    pythons: list[str] = []
    """Versions of Python that jobs can ask for."""

    missing: list[str] = []
    """What is not isolated there."""

    missing_said: list[Message] = []

    seen_at: Moment
    drain: Optional[DrainOut] = None
    """Set while nothing new is started there."""


class HoldingOut(Answer):
    """What one task of a job held on a node, and when."""

    node: str
    device_ids: list[int] = []
    cpus: float
    memory_bytes: int
    started_at: Moment
    ended_at: Optional[Moment] = None
    """None while it holds them."""

    job: Optional[str] = None
    """None for jobs of projects that one does not see; so are the following."""

    name: Optional[str] = None
    owner: Optional[str] = None
    project: Optional[str] = None
    rank: int = 0


class EnvironmentOut(Answer):
    """Packages that jobs of a project require, installed on a node."""

    key: str
    """Digest of what it is made of: requirements, Python, platform."""

    node: str
    project: str
    python: str
    size_bytes: int
    packages: list[str] = []
    """`name==version` each."""

    made_at: Moment
    used_at: Moment
    """Last start of a job that requires it."""


class HealthOut(Answer):
    status: str
    version: str
    registration: str = "approval"
    """Registration: `open` (active at once), `approval` (an admin approves) or `closed`."""

    oidc_name: Optional[str] = None
    """What the OpenID Connect provider is called that people can sign in with; None: there is none."""
