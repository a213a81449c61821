"""The key by which SSH clients know this server: made once, kept in the data folder, the same for all servers on it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import asyncssh

HOST_KEY = "ssh_host_key"


def make_host_key(path: Path) -> Path:
    """The key appears whole or not at all."""
    if path.exists():
        return path
    partial = path.with_name(f".partial.{os.getpid()}.{path.name}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
        with suppress(FileExistsError):  # another server was faster; its key is the one
            os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def public_host_key(path: Path) -> str:
    """As known_hosts has it."""
    return asyncssh.read_private_key(make_host_key(path)).export_public_key().decode().strip()
