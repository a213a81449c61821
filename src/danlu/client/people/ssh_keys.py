"""`client.ssh_keys`."""

from __future__ import annotations

from danlu.client.bodies import body
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.wire.ssh_keys import AddSshKey, SshGatewayOut, SshKeyOut, SshKeysOut


class SshKeys:
    """Your public keys for entering your jobs."""

    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self) -> list[SshKeyOut]:
        """Your keys, oldest first."""
        return self._http.get("/ssh-keys", SshKeysOut).items

    def add(self, public_key: str, *, name: str = "") -> SshKeyOut:
        """Add a key: the line in a .pub file."""
        return self._http.post("/ssh-keys", SshKeyOut, body=body(AddSshKey, public_key=public_key, name=name))

    def remove(self, key_id: str) -> None:
        self._http.send("DELETE", f"/ssh-keys/{quote_part(key_id)}")

    def gateway(self) -> SshGatewayOut:
        """Address of the SSH gateway."""
        return self._http.get("/ssh-gateway", SshGatewayOut)
