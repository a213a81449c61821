"""Check whether a Ray cluster accepts clients without a token: `python -m danlu.engines.ray.open_door HOST:PORT`.

A separate process, because Ray reads its authentication settings once per process. Prints `open` or `closed`.
"""

from __future__ import annotations

import os
import subprocess
import sys

from danlu.errors import EngineUnreachable

SECONDS = 30.0


def is_open(address: str) -> bool:
    """Connect without a token. When the cluster cannot be reached, return False: the next connection reports why."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH_")}
    command = [sys.executable, "-m", "danlu.engines.ray.open_door", address]
    try:
        done = subprocess.run(
            command, env={**env, "RAY_AUTH_MODE": "disabled"}, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise EngineUnreachable(f"no Ray cluster answered at {address} within {SECONDS:.0f} s") from error
    return done.stdout.split()[-1:] == [b"open"]


def _look(address: str) -> str:
    from ray import _raylet
    from ray.exceptions import RayError

    try:
        client = _raylet.GcsClient(address=address)  # type: ignore[attr-defined]
        return "open" if client.cluster_id else "closed"
    except (RayError, OSError):
        return "closed"


if __name__ == "__main__":
    print(_look(sys.argv[1]))
