"""Convert shape C to shape A. Ranks are numbered as on ModelArts: by the number at the end of each task's name.

HCCL numbers a table of shape C by the text of `server_id` (10.0.0.10 before 10.0.0.9), so ranks may differ from those
of the converted table: use only one of the two in a job.
"""

from __future__ import annotations

import re
from typing import Any

from danlu.errors import InvalidInput
from danlu.launch.ranktable.check import check, read_object, shape_of
from danlu.launch.ranktable.faults import Reader, Shape
from danlu.launch.ranktable.table import RankedDevice, RankTable, Server
from danlu.launch.ranktable.write import write_a

_MOST_FAULTS_TOLD = 5
_NUMBER = re.compile(r"-([0-9]{1,9})$")


def convert(text: str) -> str:
    """Return the table in shape A. Raise InvalidInput if it is not a valid table of shape C."""
    faults = check(text)
    if faults:
        told = "".join(f"\n{fault}" for fault in faults[:_MOST_FAULTS_TOLD])
        more = len(faults) - _MOST_FAULTS_TOLD
        raise InvalidInput(f"the rank table has faults:{told}" + (f"\nand {more} more" if more > 0 else ""))
    values = read_object(text, Reader())
    assert values is not None
    shape = shape_of(values)
    if shape is not Shape.C:
        raise InvalidInput(f"the rank table has shape {shape}; only shape C (no version, no deploy_mode) is converted")
    groups = values["group_list"]
    if len(groups) > 1:
        raise InvalidInput(
            f"group_list has {len(groups)} groups, and a table of shape A has none; expected one, with all instances"
        )
    return write_a(_table(groups[0]["instance_list"]))


def _table(instances: list[dict[str, Any]]) -> RankTable:
    by_server: dict[str, list[RankedDevice]] = {}
    pods: dict[str, str] = {}
    rank = 0
    for instance in sorted(instances, key=_number):
        server = str(instance["server_id"])
        pods.setdefault(server, str(instance["pod_name"]))
        for device in instance["devices"]:
            ranked = RankedDevice(int(device["device_id"]), str(device.get("device_ip", "")), rank)
            by_server.setdefault(server, []).append(ranked)
            rank += 1
    return RankTable(tuple(Server(name, pods[name], tuple(devices)) for name, devices in by_server.items()))


def _number(instance: dict[str, Any]) -> int:
    found = _NUMBER.search(str(instance["pod_name"]))
    if found is None:
        raise InvalidInput(
            f"pod_name {instance['pod_name']!r} does not end in a number after '-', which says the order of the "
            f"ranks; expected job-0"
        )
    return int(found[1])
