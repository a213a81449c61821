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
    """Digest of what it is made of."""

    python: str
    size_bytes: int
    packages: tuple[str, ...] = ()
    """`name==version` each."""

    made_at: float
    used_at: float
    """Unix time of the last start of a job that requires it."""


class NodeInfo(BaseModel):
    """A node as the engine reports it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    engine: str = ""
    """Which of the server's engines has it: all tasks of an attempt are on nodes of one engine."""

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
    """What other nodes reach it by; empty where there are none."""

    interface: str = ""
    """The network interface that this address is on."""

    holds_many_tasks: bool = False
    """Whether several tasks of one attempt may run on this node."""

    image_tool: str = ""
    """What fetches images: podman, docker, or danlu itself; empty where jobs with an image cannot run."""

    image_problem: str = ""
    """Why images are not supported."""

    software: Optional[tuple[str, ...]] = None
    """Installed programs and packages that examples need; None when the engine does not report them."""

    pythons: tuple[str, ...] = ()
    """Versions of Python that jobs can ask for."""

    environments: tuple[EnvironmentInfo, ...] = ()
    """Packages of jobs that it keeps, the last used first."""

    work_dir: str = ""
    missing: tuple[str, ...] = ()
    """What is not isolated here, one sentence each."""
