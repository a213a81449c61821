"""Where the tasks of an attempt run. Created by the scheduling policy, read by the launch modes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

SANDBOX_ROOT = "/opt/ml"


class TaskPlacement(BaseModel):
    """Placement of one task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int
    node: str
    address: str
    """Address at which the other tasks of the attempt reach it."""

    interface: str = ""
    """Network interface of this address, if it differs from that of the placement."""

    port: int = 0
    """Free port on its address, for this task; 0 in placements of older versions."""

    device_ids: tuple[int, ...] = ()
    device_model: str | None = None
    device_ips: tuple[str, ...] = ()
    """Addresses of the devices' own network cards, in the order of `device_ids`; empty if not known."""

    device_uuids: tuple[str, ...] = ()
    """UUIDs of the devices, in the order of `device_ids`; empty if not known."""

    super_pod: str | None = None
    """Super pod that contains all of its devices, if known."""

    super_devices: tuple[str, ...] = ()
    """Numbers of the devices in the super pod, in the order of `device_ids`; empty if not known."""

    has_simulated_devices: bool = False
    root: str = SANDBOX_ROOT
    """Folder with input/, code/, output/ and model/, as the task sees it."""


class Placement(BaseModel):
    """The places of all tasks of an attempt, in rank order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: tuple[TaskPlacement, ...]
    master_port: int
    """Free port on the address of task 0, for this attempt."""

    has_own_network: bool = True
    """Whether the addresses are in a private network; otherwise they are those of the nodes."""

    interface: str = ""
    """Network interface of the tasks' addresses; empty if frameworks choose it themselves."""


def simulated_notes(placement: Placement) -> list[str]:
    """Notes for the user about simulated devices."""
    nodes = sorted({task.node for task in placement.tasks if task.has_simulated_devices})
    return [f"the devices of {node} are simulated: no such hardware is used" for node in nodes]
