"""Where the tasks of an attempt go. Made by the policy, read by the launch modes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

SANDBOX_ROOT = "/opt/ml"


class TaskPlacement(BaseModel):
    """One task's place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int
    node: str
    address: str
    """What the other tasks of the attempt reach it by."""

    interface: str = ""
    """The network interface of this address, when it is another one than that of the placement."""

    port: int = 0
    """A port on its address that is free for this task; 0 in placements of older versions."""

    device_ids: tuple[int, ...] = ()
    device_model: str | None = None
    device_ips: tuple[str, ...] = ()
    """Addresses of the devices' own network cards, in the order of the ids; empty when the node does not know them."""

    device_uuids: tuple[str, ...] = ()
    """What the devices are called wherever they are seen from, in the order of the ids; empty when not known."""

    super_pod: str | None = None
    """The super pod that all of its devices are in, if the node knows."""

    super_devices: tuple[str, ...] = ()
    """The numbers of the devices in it, in the order of the ids; empty when not known."""

    has_simulated_devices: bool = False
    root: str = SANDBOX_ROOT
    """The folder that holds input/, code/, output/ and model/ as the task sees them."""


class Placement(BaseModel):
    """The places of all tasks of an attempt, in rank order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: tuple[TaskPlacement, ...]
    master_port: int
    """A port on task 0's address that is free for this attempt."""

    has_own_network: bool = True
    """Whether the addresses are those of a private network; otherwise they are those of the nodes."""

    interface: str = ""
    """The network interface that the tasks' addresses are on, when it is not for the framework to find."""


def simulated_notes(placement: Placement) -> list[str]:
    """What people are told about devices that do not exist."""
    nodes = sorted({task.node for task in placement.tasks if task.has_simulated_devices})
    return [f"the devices of {node} are simulated: no such hardware is used" for node in nodes]
