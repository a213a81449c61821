"""Devices of Ascend jobs are chosen so that they can work together."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from danlu.launch import Placement
from danlu.scheduler.policy.decide import place
from danlu.scheduler.policy.snapshot import FreeNode, QueuedJob
from danlu.spec.devices import Device
from danlu.spec.job import parse_job
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason


def place_one(ids: list[int], *, count: int, launch: str = "ascend", **device: Any) -> Placement | Reason:
    """Where one task goes when only these devices of a node with 8 are free."""
    every = tuple(Device(type="npu", id=number, **device) for number in range(8))
    info = NodeInfo(name="here", cpus=8, memory_bytes=1 << 30, devices=every, work_dir="/srv/danlu")
    node = FreeNode(info=info, devices=tuple(every[k] for k in ids), cpus=8, memory_bytes=1 << 30, num_tasks=8)
    spec = parse_job({"name": "a", "command": "x", "launch": launch, "resources": {"device": f"npu:{count}"}})
    queued_at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    return place(QueuedJob(id="train-1", spec=spec, attempt=1, queued_at=queued_at), [node])


def test_two_devices_of_a_910_come_from_one_ring() -> None:
    found = place_one([3, 4, 5], count=2, model="910")
    assert isinstance(found, Placement)
    assert found.tasks[0].device_ids == (4, 5)


def test_without_room_in_a_ring_the_job_waits_and_hears_why() -> None:
    found = place_one([3, 4], count=2, model="910")
    assert isinstance(found, Reason)
    assert found.code == "no_capacity"
    assert "free only in parts of different rings" in found.message


def test_a_910b_has_no_rings_and_other_modes_do_not_care() -> None:
    for found in (
        place_one([3, 4], count=2, model="910b"),
        place_one([3, 4], count=2, model="910", launch="plain"),
    ):
        assert isinstance(found, Placement)
        assert found.tasks[0].device_ids == (3, 4)


def test_the_placement_knows_what_the_devices_are() -> None:
    found = place_one([0], count=1, model="910b", is_simulated=True, ip="192.168.1.8")
    assert isinstance(found, Placement)
    task = found.tasks[0]
    assert (task.device_model, task.device_ips, task.has_simulated_devices) == ("910b", ("192.168.1.8",), True)
