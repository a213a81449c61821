"""Write rank tables. Every scalar is a string, because HCCL rejects numbers. The same table gives the same bytes."""

from __future__ import annotations

import json
from typing import Any

from danlu.launch.ranktable.table import RankTable, Server

NUM_NICS = 8
LARGEST_OLD_DEVICE_ID = 7
"""Shapes B and C were defined for servers with 8 devices."""


def write_a(table: RankTable) -> str:
    """Shape A: version 1.0, which all current frameworks read, or 1.2 if all servers are in super pods."""
    pods = table.servers_by_pod
    servers = [
        {
            "server_id": server.server_id,
            "device": [
                {
                    "device_id": str(device.device_id),
                    **({"device_ip": device.device_ip} if device.device_ip else {}),
                    "rank_id": str(device.rank_id),
                    **({"super_device_id": device.super_device} if pods else {}),
                }
                for device in server.devices
            ],
        }
        for server in table.servers
    ]
    head: dict[str, Any] = {"status": "completed", "version": "1.0", "server_count": str(len(servers))}
    if pods:
        head["version"] = "1.2"
        head["super_pod_list"] = [
            {"super_pod_id": pod, "server_list": [{"server_id": server.server_id} for server in inner]}
            for pod, inner in pods.items()
        ]
    return _text(head, "server_list", [_lines(server, "device") for server in servers])


def write_b(table: RankTable) -> str:
    """Shape B, for MindSpore 0.x: no version, one instance per device. Raise ValueError for a device above 7."""
    _check_old(table)
    instances = [
        {
            "devices": [{"device_id": str(device.device_id), "device_ip": device.device_ip}],
            "rank_id": str(device.rank_id),
            "server_id": server.server_id,
        }
        for server in table.servers
        for device in server.devices
    ]
    group = {
        "device_num": str(table.num_devices),
        "server_num": str(len(table.servers)),
        "group_name": "",
        "instance_count": str(len(instances)),
        "instance_list": instances,
    }
    head = {
        "board_id": "0x0020",
        "chip_info": "910",
        "deploy_mode": "lab",
        "para_plane_nic_location": "device",
        "para_plane_nic_name": [f"eth{number}" for number in range(NUM_NICS)],
        "para_plane_nic_num": str(NUM_NICS),
        "status": "completed",
        "group_count": "1",
    }
    return _text(head, "group_list", [_lines(group, "instance_list")])


def write_c(table: RankTable) -> str:
    """Shape C, for TensorFlow 1.15 and ModelArts' `jobstart_hccl.json`: one instance per task, no ranks.

    Raise ValueError for a device above 7. Readers number the ranks themselves, so prefer A where both are read.
    """
    _check_old(table)
    group = {
        "group_name": "training",
        "device_count": str(table.num_devices),
        "instance_count": str(len(table.servers)),
        "instance_list": [_instance(server) for server in table.servers],
    }
    return _text({"status": "completed", "group_count": "1"}, "group_list", [_lines(group, "instance_list")])


def _instance(server: Server) -> dict[str, Any]:
    devices = [{"device_id": str(device.device_id), "device_ip": device.device_ip} for device in server.devices]
    return {"pod_name": server.pod_name, "server_id": server.server_id, "devices": devices}


def _check_old(table: RankTable) -> None:
    for server in table.servers:
        for device in server.devices:
            if device.device_id > LARGEST_OLD_DEVICE_ID:
                raise ValueError(
                    f"device {device.device_id} of {server.server_id} cannot be in this shape, which knows 0 to "
                    f"{LARGEST_OLD_DEVICE_ID}; shape A knows 0 to 15"
                )


def _text(head: dict[str, Any], name: str, items: list[str]) -> str:
    """JSON with one device or instance per line, for readability."""
    opening = json.dumps(head, ensure_ascii=False)[:-1]
    return f"{opening}, {json.dumps(name)}: [\n" + ",\n".join(items) + "\n]}\n"


def _lines(item: dict[str, Any], name: str) -> str:
    rest = {key: value for key, value in item.items() if key != name}
    lines = ",\n".join(f"   {json.dumps(inner, ensure_ascii=False)}" for inner in item[name])
    return f" {json.dumps(rest, ensure_ascii=False)[:-1]}, {json.dumps(name)}: [\n{lines}]}}"
