"""TI-ONE's mode RAY as a job: a Ray cluster for the time of the job, the command on its head.

The head is the role `chief`, which has rank 0 and decides about success; `CHIEF_IP` is its address in every task. Each
group of workers is a role of its own. The commands are for bash, which the contract `tione` has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

HEAD, WORKER = "chief", "worker"
PORT = 6379
_PORTS = (
    "--dashboard-agent-grpc-port=52366 --dashboard-agent-listen-port=52365 "
    "--metrics-export-port=52367 --runtime-env-agent-port=52368"
)
"""Said beforehand: Ray's daemon ends when its agents do not tell theirs within 15 s, a busy machine takes longer."""

_START = f"""\
command -v ray > /dev/null || {{
  echo "mode RAY: expected the program ray in this environment, found none" >&2; exit 127
}}
export RAY_ADDRESS="$CHIEF_IP:{PORT}" RAY_USAGE_STATS_ENABLED=0
ports="{_PORTS}"
devices=0; [ "$DANLU_DEVICE_TYPE" = gpu ] && devices=$DANLU_DEVICES_PER_NODE
"""
_ON_HEAD = f"""\
{_START}ray start --head --node-ip-address="$CHIEF_IP" --port={PORT} --num-gpus="$devices" $ports \\
  --include-dashboard=false > /dev/null || {{ echo "mode RAY: the head of the Ray cluster did not start" >&2; exit 1; }}
python3 - <<'END' || exit 1
import os, time, ray
ray.init(log_to_driver=False, logging_level="ERROR")
while sum(node["Alive"] for node in ray.nodes()) < int(os.environ["DANLU_NODES"]):
    time.sleep(0.2)
END
"""
_ON_WORKER = f"""\
{_START}until (exec 3<> "/dev/tcp/$CHIEF_IP/{PORT}") 2> /dev/null; do sleep 0.2; done
for try in 1 2 3 4 5; do  # on a busy machine the head listens long before it is ready
  ray start --address="$RAY_ADDRESS" --num-gpus="$devices" $ports --block > /dev/null && exit
  sleep 1
done
echo "mode RAY: this node could not join the Ray cluster at $RAY_ADDRESS" >&2; exit 1
"""


def ray_job(command: str, *, head: Mapping[str, Any], workers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The fields of a job. `head` and `workers` have what a role has, without a command."""
    names = [WORKER, *(f"{WORKER}{number}" for number in range(2, len(workers) + 1))]
    return {
        "launch": "plain",
        "success": HEAD,
        "roles": {
            HEAD: {**head, "count": 1, "command": f"{_ON_HEAD}{command}"},
            **{name: {**group, "command": _ON_WORKER} for name, group in zip(names, workers)},
        },
    }


def own_command(command: str) -> str:
    """What the user gave, of the command of a head."""
    return command.removeprefix(_ON_HEAD)
