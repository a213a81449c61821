"""The SSH host key: created once, kept in the data folder, shared by all servers that use this folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import asyncssh

HOST_KEY = "ssh_host_key"


def make_host_key(path: Path) -> Path:
    """Create the key atomically unless it exists."""
    if path.exists():
        return path
    partial = path.with_name(f".partial.{os.getpid()}.{path.name}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
        with suppress(FileExistsError):  # another server created it first; use that key
            os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def public_host_key(path: Path) -> str:
    """In the format of known_hosts."""
    return asyncssh.read_private_key(make_host_key(path)).export_public_key().decode().strip()
