"""Nodes: machines that tasks run on."""

from __future__ import annotations

from typing import Optional

from pydantic import BaseModel, ConfigDict

from danlu.spec.devices import Device


class EnvironmentInfo(BaseModel):
    """Packages that jobs of a project require, installed on a node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_id: int
    key: str
    """Digest of everything that its build depends on."""

    python: str
    size_bytes: int
    packages: tuple[str, ...] = ()
    """Installed packages, as `name==version`."""

    made_at: float
    used_at: float
    """Unix time of the last start of a job that requires it."""


class NodeInfo(BaseModel):
    """A node as the engine reports it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    engine: str = ""
    """Name of its engine. All tasks of an attempt run on nodes of one engine."""

    cpus: float
    memory_bytes: int
    devices: tuple[Device, ...] = ()
    max_tasks: int = 256
    has_sandbox: bool = False
    """Whether tasks run in a sandbox with `/opt/ml`. Without it, their folders are below `work_dir`."""

    has_own_network: bool = False
    """Whether every attempt has a private network with an address for each task."""

    joins_networks: bool = False
    """Whether the private network of an attempt can span this node and others."""

    address: str = ""
    """Address at which other nodes reach it; empty if there are none."""

    interface: str = ""
    """The network interface that this address is on."""

    holds_many_tasks: bool = False
    """Whether several tasks of one attempt may run on this node."""

    image_tool: str = ""
    """Tool that fetches images: podman, docker, or danlu itself; empty if jobs with an image cannot run here."""

    image_problem: str = ""
    """Why images are not supported."""

    software: Optional[tuple[str, ...]] = None
    """Installed programs and packages that examples need; None when the engine does not report them."""

    pythons: tuple[str, ...] = ()
    """Python versions that jobs can request."""

    environments: tuple[EnvironmentInfo, ...] = ()
    """Installed packages of jobs, the last used first."""

    work_dir: str = ""
    missing: tuple[str, ...] = ()
    """What is not isolated between tasks, one sentence each."""
