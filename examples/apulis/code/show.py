"""What one process of an Apulis job sees: who it is, and whether both old rank tables know it. Standard library only.

Prints one line and ends with 0; ends with 1 when a table does not hold this process where it should.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def read(name: str) -> dict[str, Any]:
    path = os.path.join(os.environ["HOME"], ".npu", os.environ["DLWS_JOB_ID"], name)
    with open(path, encoding="utf-8") as file:
        group: dict[str, Any] = json.load(file)["group_list"][0]
    return group


def main() -> int:
    env = os.environ
    rank, index = env["RANK_ID"], int(env["DEVICE_ID"])
    device = env["VISIBLE_IDS"].split(",")[index]
    wanted = {"device_id": device, "device_ip": dict(pair.split(":") for pair in env["NPU_IPS"].split(","))[device]}
    for_mindspore = [one["devices"][0] for one in read("hccl_ms.json")["instance_list"] if one["rank_id"] == rank]
    pods = [one for one in read("hccl_tf.json")["instance_list"] if one["pod_name"] == env["POD_NAME"]]
    is_known = for_mindspore == [wanted] and [one["devices"][index] for one in pods] == [wanted]
    who = f"{env['DLWS_ROLE_NAME']} {env['DLWS_ROLE_IDX']} of {env['DLWS_NUM_WORKER']}"
    home = f"uid {'known' if env['DLWS_UID'] == str(os.getuid()) else 'wrong'}, home {env['HOME']}"
    verdict = "both tables agree" if is_known else "a table does not agree"
    # one write: the processes of a node share a log
    sys.stdout.write(f"rank {rank}: {who}, device {device}, {home}: {verdict}\n")
    return 0 if is_known else 1


if __name__ == "__main__":
    sys.exit(main())
