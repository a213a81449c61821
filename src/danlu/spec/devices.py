"""Devices: what a job asks for and what a node has."""

from __future__ import annotations

from typing import Optional

from pydantic import BaseModel, ConfigDict

CPU = "cpu"


class DeviceRequest(BaseModel):
    """So many devices of one type on every node of a job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = CPU
    model: Optional[str] = None
    count: int = 1

    def __str__(self) -> str:
        return ":".join(part for part in (self.type, self.model, str(self.count)) if part)

    @property
    def is_scarce(self) -> bool:
        """Whether ids are given out. CPU processes are only counted, the operating system shares the cores."""
        return self.type != CPU


class Device(BaseModel):
    """One device of a node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    id: int
    model: Optional[str] = None
    is_simulated: bool = False
    ip: Optional[str] = None
    """The address of its own network card (NPUs), when the node knows it."""

    uuid: Optional[str] = None
    """What it is called wherever it is seen from (NVIDIA), when the node knows it."""
