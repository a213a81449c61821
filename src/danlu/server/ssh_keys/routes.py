"""SSH keys over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from danlu.server.identity import CurrentUser
from danlu.server.ssh_keys import service
from danlu.server.state import State
from danlu.wire.ssh_keys import AddSshKey, SshGatewayOut, SshKeyOut, SshKeysOut

router = APIRouter(prefix="/ssh-keys", tags=["ssh"])
gateway_router = APIRouter(prefix="/ssh-gateway", tags=["ssh"])


@router.get("")
def list_keys(who: CurrentUser, state: State) -> SshKeysOut:
    """Your own, in the order in which they were added."""
    return state.database.read(service.list_keys, who)


@router.post("", status_code=201)
def add_key(body: AddSshKey, who: CurrentUser, state: State) -> SshKeyOut:
    """Add a public key, to enter your jobs with."""
    return state.database.write(service.add_key, state, who, body)


@router.delete("/{ssh_key}", status_code=204)
def remove_key(ssh_key: str, who: CurrentUser, state: State) -> Response:
    """Remove a key; its open SSH sessions are closed within seconds."""
    state.database.write(service.remove_key, state, who, ssh_key)
    return Response(status_code=204)


@gateway_router.get("")
def gateway(_who: CurrentUser, state: State) -> SshGatewayOut:
    """Where `ssh` finds jobs, and the key by which it knows the gateway."""
    host, port = state.settings.ssh_at
    return SshGatewayOut(host=host, port=port, host_key=state.ssh_host_key)
