"""Makes the tasks of a job the nodes of a Ray cluster, and runs the job's command on its head.

    python3 -I -S cluster.py CONFIG head -- COMMAND...   start the head, wait for all nodes, run the command, end all
    python3 -I -S cluster.py CONFIG worker               be a node of it until the head ends

CONFIG is a JSON file: `address` of the head, `start` (options of `ray start` here), `num_nodes`, `token` (a file whose
content, hashed, lets only this attempt in). `ray` must be installed where the job runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any, NoReturn, Optional

NOT_FOUND = 127
START_SECONDS = 600.0
"""How long the nodes may take: others may still fetch their inputs."""

NUM_TRIES = 5
RETRY_SECONDS, STOP_SECONDS, LOOK_SECONDS = 1.0, 10.0, 0.2
COUNT_NODES = """
import ray, sys, time
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR", configure_logging=False)
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[2]):
    time.sleep(0.2)
"""
"""Run by the job's own Python: ends once all nodes have joined."""


def head(config: dict[str, Any], command: list[str]) -> int:
    """Run the command on a cluster that is there as long as the command runs."""
    give_up_at = time.monotonic() + START_SECONDS
    ray = _start(["--head", *config["start"]], give_up_at, config)
    if ray is None:
        _say("the head of the Ray cluster did not start; what Ray said is above")
        return 1
    try:
        return _run(command)
    finally:
        _end(ray)


def worker(config: dict[str, Any]) -> int:
    """Join, and stay. Ray's own processes end when the head is gone."""
    give_up_at = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up_at:
        ray = subprocess.Popen(["ray", "start", f"--address={config['address']}", "--block", *config["start"]])
        began = time.monotonic()
        code = _wait(ray)
        if code == 0 or time.monotonic() - began > START_SECONDS:
            return code
        time.sleep(RETRY_SECONDS)  # the head is not up yet, or this machine is busy
    _say(f"this node could not join the Ray cluster at {config['address']} within {START_SECONDS:.0f} s")
    return 1


def _start(options: list[str], give_up_at: float, config: dict[str, Any]) -> Optional[subprocess.Popen[bytes]]:
    """The process that holds the head, once all nodes have joined. A busy machine may need several tries."""
    for _ in range(NUM_TRIES):
        ray = subprocess.Popen(["ray", "start", "--block", *options], stdout=subprocess.DEVNULL)
        counting: Optional[subprocess.Popen[bytes]] = None
        while ray.poll() is None and time.monotonic() < give_up_at:
            if counting is None or counting.poll():
                argv = ["python3", "-c", COUNT_NODES, config["address"], str(config["num_nodes"])]
                counting = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            elif counting.returncode == 0:
                return ray
            time.sleep(LOOK_SECONDS)
        if counting is not None:
            _end(counting)
        _end(ray)
        if time.monotonic() > give_up_at:
            break
        time.sleep(RETRY_SECONDS)
    return None


def _run(command: list[str]) -> int:
    """The command's exit code, 128 + n when signal n ended it. What this process is told, the command is told too."""
    started = subprocess.Popen(command)
    return _wait(started)


def _wait(process: subprocess.Popen[bytes]) -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda told, _frame: process.send_signal(told))
    code = process.wait()
    return 128 - code if code < 0 else code


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _let_in_only_this_job(config: dict[str, Any]) -> None:
    with open(config["token"], "rb") as file:
        token = hashlib.sha256(b"ray of " + file.read().strip()).hexdigest()
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token)


def _say(text: str) -> None:
    print(f"danlu: launch: ray: {text}", file=sys.stderr, flush=True)


def main() -> NoReturn:
    with open(sys.argv[1]) as file:
        config = json.load(file)
    if shutil.which("ray") is None:
        _say("expected the program `ray` in the job's environment, found none; ask for it with requirements: [ray]")
        sys.exit(NOT_FOUND)
    _let_in_only_this_job(config)
    sys.exit(head(config, sys.argv[4:]) if sys.argv[2] == "head" else worker(config))


if __name__ == "__main__":
    main()
