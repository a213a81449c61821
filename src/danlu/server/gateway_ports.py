"""The gateway's listening ports, and the servers behind them."""

from __future__ import annotations

import logging
import socket
from typing import NamedTuple

from danlu.errors import Unavailable
from danlu.gateway.proxy.names import BareAddress, EndpointNames
from danlu.gateway.proxy.server import Proxy, ProxyLimits
from danlu.gateway.ssh.host_key import HOST_KEY, make_host_key
from danlu.gateway.ssh.server import SshGateway
from danlu.gateway.tasks import Engines
from danlu.gateway.thread import GatewayThread
from danlu.server.endpoints.operations import EndpointGate
from danlu.server.settings import ServerSettings
from danlu.server.ssh_keys.operations import SshKeyGate
from danlu.server.state import ServerState

log = logging.getLogger(__name__)


class Doors(NamedTuple):
    """Listening sockets, and the settings with their ports."""

    settings: ServerSettings
    endpoints: socket.socket
    ssh: socket.socket
    bare: socket.socket | None = None
    """For endpoints at a bare IP address; None: disabled."""

    def gateway(self, state: ServerState, engines: Engines) -> GatewayThread:
        gate = EndpointGate(state.database, state.sealer, state.now)
        names = EndpointNames(self.settings.endpoints_at)
        limits = ProxyLimits(
            head_seconds=self.settings.request_seconds,
            per_address=self.settings.max_connections_per_address,
            trusted=self.settings.trusted_addresses,
        )
        ssh_gate, host_key = SshKeyGate(state), make_host_key(self.settings.server_dir / HOST_KEY)
        serving = [
            lambda: Proxy(engines, gate, names=names, limits=limits).serve(self.endpoints),
            lambda: SshGateway(engines, ssh_gate, host_key=host_key).serve(self.ssh),
        ]
        bare = self.bare
        if bare is not None:
            bare_gate = EndpointGate(state.database, state.sealer, state.now, is_bare=True)
            address = BareAddress(self.settings.endpoints_bare_port or 0)
            serving.append(lambda: Proxy(engines, bare_gate, names=address, limits=limits).serve(bare))
        return GatewayThread(serving)


def listen(settings: ServerSettings) -> Doors:
    """Open the ports. Raise Unavailable when one from the settings is taken."""
    endpoints = _listen(settings.host, settings.endpoints_port, usual=settings.port + 1, name="--endpoints-port")
    ssh = _listen(settings.host, settings.ssh_port, usual=settings.port + 2, name="--ssh-port")
    ports = {"endpoints_port": endpoints.getsockname()[1], "ssh_port": ssh.getsockname()[1]}
    if not settings.has_bare_endpoints:
        return Doors(settings.model_copy(update=ports), endpoints, ssh)
    bare = _listen(settings.host, settings.endpoints_bare_port, usual=0, name="--endpoints-bare-port")
    ports["endpoints_bare_port"] = bare.getsockname()[1]
    return Doors(settings.model_copy(update=ports), endpoints, ssh, bare)


def _listen(host: str, port: int | None, *, usual: int, name: str) -> socket.socket:
    try:
        return _bound(host, usual if port is None else port)
    except OSError as error:
        if port is not None:
            told = f"cannot listen on {host}:{port}: {error.strerror}; choose another {name}"
            raise Unavailable(told) from error
    made = _bound(host, 0)
    log.warning("port %s is taken; %s is %s until the next start", usual, name, made.getsockname()[1])
    return made


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for sockets that say they are TCP
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port if port <= 65535 else 0))
        made.listen(1024)
    except OSError:
        made.close()
        raise
    return made
