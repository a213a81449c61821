"""Make the tasks of a job the nodes of a Ray cluster, and run the job's command on its head.

    python3 -I -S cluster.py CONFIG head -- COMMAND...   start the head, wait for all nodes, run the command, end all
    python3 -I -S cluster.py CONFIG worker               be a node of it until the head ends

CONFIG is a JSON file: `address` of the head, `start` (options of `ray start` here), `num_nodes`, `token` (a file whose
hashed content admits only this attempt). The environment of the job must contain `ray`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn, Optional

NOT_FOUND = 127
START_SECONDS = 600.0
"""How long to wait for all nodes: they may still fetch their inputs."""

NUM_TRIES = 5
RETRY_SECONDS, STOP_SECONDS, LOOK_SECONDS = 1.0, 10.0, 0.5
COUNT_NODES = """
import ray, sys, time
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR", configure_logging=False)
while sum(node["Alive"] for node in ray.nodes()) < int(sys.argv[2]):
    time.sleep(0.2)
"""
"""Run by the job's own Python: exits once all nodes have joined."""


def head(config: dict[str, Any], command: list[str]) -> int:
    """Run the command on a cluster that lives as long as the command. Return its exit code."""
    ray = _start(["--head", *config["start"]], config)
    if ray is None:
        _say("the head of the Ray cluster did not start, or nodes are missing; what Ray said is above")
        return 1
    try:
        started = subprocess.Popen(command)
        _on_stop(lambda: None)  # the command gets the signal too, and has its grace period
        return _code(started.wait())
    finally:
        _end(ray)


def worker(config: dict[str, Any]) -> int:
    """Join the cluster until the head ends. On SIGTERM, stay until then: the command may still use this node."""
    stopping: list[bool] = []
    _on_stop(lambda: stopping.append(True))
    give_up_at = time.monotonic() + START_SECONDS
    while not stopping and time.monotonic() < give_up_at:
        if not _is_listening(config["address"]):
            time.sleep(LOOK_SECONDS)
            continue
        ray = subprocess.Popen(["ray", "start", f"--address={config['address']}", "--block", *config["start"]])
        while ray.poll() is None:
            if stopping and not _is_listening(config["address"]):
                _end(ray)
                return _code(-signal.SIGTERM)
            time.sleep(LOOK_SECONDS)
        time.sleep(RETRY_SECONDS)  # the head was not ready, or this machine is busy
    _say(f"this node is not part of the Ray cluster at {config['address']}; what Ray said is above")
    return 1


def _start(options: list[str], config: dict[str, Any]) -> Optional[subprocess.Popen[bytes]]:
    """Start the head, and return its process once all nodes have joined. A busy machine may need several tries."""
    give_up_at = time.monotonic() + START_SECONDS
    for _ in range(NUM_TRIES):
        _forget_last_try()
        ray = subprocess.Popen(["ray", "start", "--block", *options], stdout=subprocess.DEVNULL)
        counting: Optional[subprocess.Popen[bytes]] = None
        while ray.poll() is None and time.monotonic() < give_up_at:
            if (counting is None or counting.poll()) and _is_listening(config["address"]):
                argv = ["python3", "-c", COUNT_NODES, config["address"], str(config["num_nodes"])]
                counting = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            elif counting is not None and counting.returncode == 0:
                return ray
            time.sleep(LOOK_SECONDS)
        if counting is not None:
            _end(counting)
        _end(ray)
        if time.monotonic() > give_up_at:
            break
        time.sleep(RETRY_SECONDS)
    return None


def _forget_last_try() -> None:
    """Delete Ray's note of the last head, because of which it would refuse to start another one."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster"))


def _on_stop(act: Callable[[], Any]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: act())


def _code(code: int) -> int:
    """Exit code as a shell reports it: 128 + n when the process was killed by signal n."""
    return 128 - code if code < 0 else code


def _is_listening(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1.0).close()
    except OSError:
        return False
    return True


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
