"""How the process that forwards the API into a gang's private network is started, and the source address it uses."""

from __future__ import annotations

from danlu.engines.base import Credentials
from danlu.engines.local.scripts import NODE_SCRIPTS, script_runner
from danlu.engines.settings import EngineSettings


def forwarder_command(settings: EngineSettings, credentials: Credentials) -> tuple[str, ...]:
    """Return the command line for `open_api_door`."""
    script = str(NODE_SCRIPTS / "supervise/forwarder.py")
    return (*script_runner(settings), script, credentials.server_url, source_address(credentials.owner_id))


def source_address(owner_id: int | None) -> str:
    """Return the source address of a user's jobs when the server runs on this machine: one loopback address per user.

    The server limits connections per address, so one user's jobs cannot exhaust those of another.
    """
    if owner_id is None:
        return ""
    return f"127.{64 + (owner_id >> 16) % 64}.{(owner_id >> 8) % 256}.{owner_id % 256}"
