"""What one process of an Ascend job knows of itself, and whether the rank table says the same.

Standard library only. Prints one line and ends with 0; ends with 1 and the contradiction otherwise.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def contradictions(table: dict[str, Any], env: dict[str, str]) -> list[str]:
    """Everything in which the table and the variables of this process differ."""
    rank, size = env["RANK_ID"], int(env["RANK_SIZE"])
    devices = [(server, device) for server in table["server_list"] for device in server["device"]]
    found = [(server, device) for server, device in devices if device["rank_id"] == rank]
    told = []
    if table["status"] != "completed" or table["version"] != "1.0":
        told.append(f"status {table['status']}, version {table['version']}")
    if sorted(int(device["rank_id"]) for _, device in devices) != list(range(size)):
        told.append(f"the ranks of the table are not 0 to {size - 1}")
    addresses = [device.get("device_ip", "") for _, device in devices]
    if len(table["server_list"]) > 1 and (not all(addresses) or len(set(addresses)) != len(addresses)):
        told.append("the devices do not have an address each")
    if len(found) != 1:
        return [*told, f"rank {rank} is in the table {len(found)} times"]
    server, device = found[0]
    visible = env["ASCEND_RT_VISIBLE_DEVICES"].split(",")
    if device["device_id"] != visible[int(env["DEVICE_ID"])]:
        told.append(f"the table gives rank {rank} device {device['device_id']}, DEVICE_ID means another")
    if table["server_list"].index(server) != int(env["RANK_INDEX"]):
        told.append(f"the table has rank {rank} on server {server['server_id']}, RANK_INDEX means another")
    return told


def main() -> int:
    env = dict(os.environ)
    with open(env["RANK_TABLE_FILE"], encoding="utf-8") as file:
        table = json.load(file)
    told = contradictions(table, env)
    seen = f"rank {env['RANK_ID']} of {env['RANK_SIZE']}: server {env['RANK_INDEX']}, device {env['DEVICE_ID']}"
    # one write: the processes of a node share a log
    sys.stdout.write(f"{seen}: {'; '.join(told) or 'the table agrees'}\n")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
