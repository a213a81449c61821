"""Devices that jobs request and nodes have."""

from __future__ import annotations

from typing import Optional

from pydantic import BaseModel, ConfigDict

CPU = "cpu"


class DeviceRequest(BaseModel):
    """Devices of one type that a job requests per node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = CPU
    model: Optional[str] = None
    count: int = 1

    def __str__(self) -> str:
        return ":".join(part for part in (self.type, self.model, str(self.count)) if part)

    @property
    def is_scarce(self) -> bool:
        """Whether devices are assigned by id. `cpu` is only a number of processes; the OS shares the cores."""
        return self.type != CPU


class Device(BaseModel):
    """One device of a node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    id: int
    model: Optional[str] = None
    is_simulated: bool = False
    ip: Optional[str] = None
    """IP address of its own network card (NPUs), if known."""

    uuid: Optional[str] = None
    """UUID (NVIDIA), if known."""

    super_pod: Optional[str] = None
    """Super pod that contains it (NPUs of an Atlas A3), if known."""

    super_device: Optional[str] = None
    """Its number in that super pod."""
