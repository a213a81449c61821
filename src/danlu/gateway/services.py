"""Programs that Danlu starts in a task on demand: JupyterLab and TensorBoard.

They are children of the task's first process: they see what the command sees, end with the task, and survive a restart
of the server. Each has a fixed port in the gang's network, so that a second one cannot start.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from danlu.engines.base import CanOpenChannels
from danlu.errors import PortClosed, Unsupported
from danlu.gateway.tasks import Admitted, Engines, Target
from danlu.gateway.turns import Turns
from danlu.spec.endpoints import JUPYTER, JUPYTER_OPTIONS, JUPYTER_PORT, TENSORBOARD, TENSORBOARD_PORT

START_SECONDS = 120.0
"""Timeout until a service answers: JupyterLab took 9 s on a loaded machine."""

BEGIN_SECONDS = 60.0
"""Timeout of the start script, which checks that the package is installed."""

NUM_STARTING, STARTING_PER_PERSON = 16, 2
LOOK_SECONDS = 0.2
_BEGIN = r"""
set -u
python=$(command -v python3 || command -v python) || { echo "there is no Python in the job"; exit 3; }
log=${TMPDIR:-/tmp}/danlu-$1.log
"$python" -c "import $2" 2>/dev/null || {
  echo "$2 is not installed in the environment of the job; add \`pip install $2\` to its setup"; exit 3; }
"""
_JUPYTER = rf"""
cd "${{DANLU_CODE_DIR:-$HOME}}" 2>/dev/null || cd /
setsid "$python" -m jupyterlab {JUPYTER_OPTIONS} --port="$3" --ServerApp.root_dir="$PWD" </dev/null >>"$log" 2>&1 &
"""
_TENSORBOARD = r"""
root=${DANLU_OUTPUT_DIR%/*}
mine=${TMPDIR:-/tmp}/danlu-tensorboard
if "$python" -c "import danlu.node.event_files" 2>/dev/null; then
  setsid "$python" -m danlu.node.event_files "$DANLU_RUNS_DIR" "$mine" </dev/null >>"$log" 2>&1 &
fi
spec="runs:$mine,logs:$HOME/tensorboard/$DANLU_JOB_ID/logs,output:$root/output/summary,summary:$root/summary"
ready=${TENSORBOARD_READY_FILE:-/}
setsid sh -c 'until [ -e "$0" ]; do sleep 0.2; done; exec "$@"' "$ready" \
  "$python" -m tensorboard.main --host=127.0.0.1 --port="$3" --logdir_spec="$spec" --load_fast=false \
  --reload_interval=5 </dev/null >>"$log" 2>&1 &
"""


class Service(NamedTuple):
    name: str
    module: str
    """The Python package that the job must have."""

    port: int
    script: str

    @property
    def command(self) -> tuple[str, ...]:
        """Starts it and returns at once."""
        return ("/bin/sh", "-c", _BEGIN + self.script, "sh", self.name, self.module, str(self.port))


SERVICES = {
    service.name: service
    for service in (
        Service(JUPYTER, "jupyterlab", JUPYTER_PORT, _JUPYTER),
        Service(TENSORBOARD, "tensorboard", TENSORBOARD_PORT, _TENSORBOARD),
    )
}


def port_of(endpoint: str) -> int:
    """The port in the task: the service's own, or the one that the endpoint is named after."""
    return SERVICES[endpoint].port if endpoint in SERVICES else int(endpoint)


def start(engines: Engines, target: Target, *, service: Service, begin_seconds: float = BEGIN_SECONDS) -> None:
    """Start a service in the task. Blocks for `begin_seconds` at most: the script runs the job's own Python.

    Raise Unsupported with the output of the script when the service cannot run there.
    """
    engine = engines.get(target.engine)
    if not isinstance(engine, CanOpenChannels):
        raise Unsupported(f"engine {target.engine!r} cannot start {service.name} in a running task")
    channel = engine.open_channel(target.task.handle, service.command, None)
    hanging_up = threading.Timer(begin_seconds, channel.close)
    hanging_up.daemon = True
    hanging_up.start()
    try:
        channel.end_input()
        said = b""
        while len(said) < 4096 and (piece := channel.read(4096)):
            said += piece
        code = channel.exit_code()
    finally:
        hanging_up.cancel()
        channel.close()
    if code:
        told = said.decode(errors="replace").strip()[:500] or f"it ended with {code}"
        raise Unsupported(f"{service.name} cannot be started in {target.task.job_id}: {told}")


class Starts:
    """Connects to services, and starts those that do not answer, each once at a time. For one event loop."""

    def __init__(self, engines: Engines, connect: Callable[[Admitted], Awaitable[socket.socket]]) -> None:
        self._engines, self._connect = engines, connect
        self._starting = Turns(NUM_STARTING, "endpoint-services")
        self._locks: dict[Target, asyncio.Lock] = {}

    def close(self) -> None:
        self._starting.close()

    async def connect(self, admitted: Admitted) -> socket.socket:
        """Raise PortClosed when it does not answer in time, Unsupported when it cannot run there."""
        lock = self._locks.setdefault(admitted.target, asyncio.Lock())
        try:
            async with lock:
                return await self._connect_or_start(admitted)
        finally:
            if not lock.locked():
                self._locks.pop(admitted.target, None)

    async def _connect_or_start(self, admitted: Admitted) -> socket.socket:
        target = admitted.target
        service = SERVICES[target.service]
        with suppress(PortClosed):
            return await self._connect(admitted)
        begin = partial(start, self._engines, target, service=service)
        await self._starting.call(begin, {admitted.user_id: STARTING_PER_PERSON})
        give_up_at = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up_at:
            await asyncio.sleep(LOOK_SECONDS)
            with suppress(PortClosed):
                return await self._connect(admitted)
        raise PortClosed(
            f"{service.name} did not answer within {START_SECONDS:.0f} s; see $TMPDIR/danlu-{service.name}.log in "
            f"{target.task.job_id} (`danlu exec`)"
        )
