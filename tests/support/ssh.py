"""Somebody's OpenSSH, with a key and a configuration of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import HANG_SECONDS

Done = subprocess.CompletedProcess[bytes]


class Ssh:
    def __init__(self, folder: Path, server: RunningServer) -> None:
        self.key = folder / "id"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)
        with server.client() as client:
            gateway = client.ssh_keys.gateway()
        (folder / "known").write_text(f"danlu {gateway.host_key}\n")
        self.config = folder / "config"
        self.config.write_text(
            f"Host job\n HostName 127.0.0.1\n Port {gateway.port}\n HostKeyAlias danlu\n"
            f" UserKnownHostsFile {folder}/known\n IdentityFile {self.key}\n IdentitiesOnly yes\n BatchMode yes\n"
        )

    @property
    def public_key(self) -> str:
        return self.key.with_suffix(".pub").read_text()

    def argv(self, user: str, *words: str, options: Sequence[str] = ()) -> list[str]:
        return ["ssh", "-F", str(self.config), *options, f"{user}@job", *words]

    def run(self, user: str, *words: str, options: Sequence[str] = (), data: bytes = b"") -> Done:
        return call(self.argv(user, *words, options=options), data)


def call(argv: Sequence[str], data: bytes = b"") -> Done:
    return subprocess.run(argv, input=data, capture_output=True, timeout=HANG_SECONDS, check=False)
