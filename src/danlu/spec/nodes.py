"""Nodes: machines that tasks run on."""

from __future__ import annotations

from typing import Optional

from pydantic import BaseModel, ConfigDict

from danlu.spec.devices import Device


class NodeInfo(BaseModel):
    """A node as the engine sees it now."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    cpus: float
    memory_bytes: int
    devices: tuple[Device, ...] = ()
    max_tasks: int = 256
    has_sandbox: bool = False
    """Whether tasks see `/opt/ml` and nothing of each other. Without it, `work_dir` holds their folders."""

    has_own_network: bool = False
    """Whether every attempt has a network of its own, with an address for each task."""

    holds_many_tasks: bool = False
    """Whether several tasks of one attempt may share this node (one machine that plays several)."""

    image_tool: str = ""
    """The program that fetches images (docker, podman); empty where jobs with an image cannot run."""

    image_problem: str = ""
    """Why not, for people."""

    software: Optional[tuple[str, ...]] = None
    """Which of the programs and packages that examples ask for are there; None when the engine does not say."""

    work_dir: str = ""
    missing: tuple[str, ...] = ()
    """What is not isolated here, one sentence each, for people."""
