"""The process that carries the API into a gang's own network: how it is started, and from where its requests come."""

from __future__ import annotations

from danlu.engines.base import Credentials
from danlu.engines.local.scripts import NODE_SCRIPTS, script_runner
from danlu.engines.settings import EngineSettings


def forwarder_command(settings: EngineSettings, credentials: Credentials) -> tuple[str, ...]:
    """As `open_api_door` takes it."""
    script = str(NODE_SCRIPTS / "supervise/forwarder.py")
    return (*script_runner(settings), script, credentials.server_url, source_address(credentials.owner_id))


def source_address(owner_id: int | None) -> str:
    """Where requests of a person's jobs come from if the server is on this machine: one address for each person.

    The server limits connections by address, so nobody's jobs take those of others.
    """
    if owner_id is None:
        return ""
    return f"127.{64 + (owner_id >> 16) % 64}.{(owner_id >> 8) % 256}.{owner_id % 256}"
