"""The actor on every node of a Ray cluster: it holds a `LocalEngine` and carries out the server's requests.

It owns no process. The engine starts shims detached, so they survive the end of the actor and of Ray, and a new actor
finds them by their folders.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from pickle import PickleBuffer
from threading import Thread
from typing import Any

from danlu import __version__
from danlu.engines.base import Credentials, TerminalSize
from danlu.engines.local import LocalEngine
from danlu.engines.ray.log_door import MIN_BYTES, Way, bring
from danlu.engines.ray.messages import Answer, HandleFields, handle_of
from danlu.engines.ray.ports import SocketChannel
from danlu.engines.ray.private import private_paths, session_dir
from danlu.engines.ray.shells import Shells
from danlu.engines.settings import EngineSettings
from danlu.errors import DanluError, EngineUnavailable
from danlu.launch import Plan
from danlu.node.supervise import lease
from danlu.node.supervise.overlay import interface_of
from danlu.node.task import Overlay

NORMAL_NICENESS, NORMAL_OOM_SCORE = 0, "0"
RENEW_SECONDS = 5.0


class Agent:
    """The class of the actor. Arguments and answers are plain data, so that different versions can detect each
    other."""

    def __init__(self, settings: str, address: str, node_id: str) -> None:
        """`settings`: JSON; `work_dir` may start with ~. `address`: of this node. `node_id`: Ray's id of it."""
        _be_ordinary()
        chosen = EngineSettings.model_validate_json(settings)
        work_dir = chosen.work_dir.expanduser()
        others = work_dir.parent  # hides the folders of other nodes on the same disk
        chosen = chosen.model_copy(
            update={"work_dir": work_dir, "hide": (*chosen.hide, others, *private_paths(session_dir()))}
        )
        self._engine = LocalEngine(chosen)
        self._node = self._engine.nodes()[0].model_copy(update={"address": address, "interface": interface_of(address)})
        self._lease = _Lease(chosen, node_id, keep_away_from=self._engine.keep_away_from)
        Thread(target=self._lease.keep, daemon=True).start()
        self._shells = Shells()
        Thread(target=self._shells.keep, daemon=True).start()
        self._actions: dict[str, Callable[..., Any]] = {
            "node": lambda: self._node.model_dump(mode="json"),
            "start": self._start,
            "poll": self._poll,
            "read_log": lambda handle, offset, limit: self._engine.read_log(handle_of(handle), offset, limit),
            "read_marks": self._read_marks,
            "read_log_piece": self._read_log_piece,
            "read_usages": lambda asked: self._engine.read_usages(
                [(handle_of(handle), generation, offset) for handle, generation, offset in asked]
            ),
            "stop": lambda handles, grace: self._engine.stop([handle_of(one) for one in handles], grace),
            "open_shell": self._open_shell,
            "connect": lambda handle, port: self._shells.add(
                handle[0], SocketChannel(self._engine.connect(handle_of(handle), port)), apart=False
            ),
            "shell": self._shells.do,
            "forget": self._engine.forget,
            "leftovers": lambda: list(self._engine.leftovers()),
        }

    def do(self, version: str, action: str, *arguments: Any) -> Answer:
        """Carry out one request. A rejection by the engine is returned as an answer, not raised."""
        if version != __version__:
            return "refused", "EngineUnavailable", f"the agent is Danlu {__version__}, and the server is {version}"
        try:
            return "done", self._actions[action](*arguments), ""
        except DanluError as error:
            return "refused", type(error).__name__, error.message
        except OSError as error:
            return "refused", "EngineUnavailable", str(error)

    def _start(
        self, plan_text: str, ranks: Sequence[int], credentials: dict[str, Any], overlay: tuple[Any, ...] | None
    ) -> None:
        _be_ordinary()
        plan = Plan.model_validate_json(plan_text)
        tasks = [task for task in plan.tasks if task.rank in ranks]
        joined = None if overlay is None else Overlay(*overlay)
        if not self._lease.knows_the_cluster:
            raise EngineUnavailable("the agent does not know the machines of the cluster yet; try again")
        self._engine.start_here(plan, tasks, credentials=Credentials(**credentials), overlay=joined)

    def _open_shell(
        self, handle: HandleFields, command: Sequence[str], size: tuple[int, int] | None, apart: bool
    ) -> str:
        terminal = None if size is None else TerminalSize(*size)
        opened = self._engine.open_channel(handle_of(handle), command, terminal, apart=apart)
        return self._shells.add(handle[0], opened, apart=apart and terminal is None)

    def _read_log_piece(
        self, handle: HandleFields, offset: int, limit: int, mark: int, way: tuple[str, int, bytes] | None
    ) -> tuple[PickleBuffer | None, int, list[tuple[int, float]]]:
        """Return (bytes, or None if they were sent to the driver; number of bytes; marks)."""
        data: bytes | None = b""
        size = 0
        with contextlib.suppress(FileNotFoundError), self._engine.log_file(handle_of(handle)).open("rb") as log:
            found = max(0, min(limit, os.fstat(log.fileno()).st_size - offset))
            if way is not None and found >= MIN_BYTES:
                size = bring(log.fileno(), Way(*way), offset=offset, size=found)
            data = None if size else os.pread(log.fileno(), found, offset)
            size = size if data is None else len(data)
        # pickling does not copy a PickleBuffer
        return None if data is None else PickleBuffer(data), size, self._read_marks(handle, mark)

    def _read_marks(self, handle: HandleFields, offset: int) -> list[tuple[int, float]]:
        return [(mark.offset, mark.at) for mark in self._engine.read_marks(handle_of(handle), offset)]

    def _poll(self, handles: Sequence[HandleFields]) -> list[dict[str, Any] | None]:
        seen = self._engine.poll([handle_of(one) for one in handles])
        return [None if one is None else one.model_dump(mode="json") for one in seen]


class _Lease:
    """Polls the cluster, and renews the lease of this node's tasks while the cluster reports the node as alive.

    Blocks traffic from the node's tasks, including running ones, to all machines of the cluster.
    """

    def __init__(
        self, settings: EngineSettings, node_id: str, *, keep_away_from: Callable[[Sequence[str]], None]
    ) -> None:
        self._path, self._seconds = str(settings.lease_file), settings.task_lease_seconds
        self._node_id = node_id
        self._keep_away_from = keep_away_from
        self._addresses: set[str] = set()
        """Addresses of all nodes that the cluster has ever had."""

        self.knows_the_cluster = False
        self._look()

    def keep(self) -> None:
        """Loop forever."""
        while True:
            time.sleep(min(RENEW_SECONDS, self._seconds / 5))
            self._look()

    def _look(self) -> None:
        """The lease counts from the time of the request, not of the answer."""
        import ray

        asked_at = lease.now()
        try:
            nodes = ray.nodes()
            if any(node["NodeID"] == self._node_id and node["Alive"] for node in nodes):
                lease.renew(self._path, asked_at)
            self._addresses.update(node["NodeManagerAddress"] for node in nodes)
            self._keep_away_from(sorted(self._addresses))
            self.knows_the_cluster = True
        except Exception as error:  # the head is offline, or the disk is full: the next call may succeed
            print(f"the lease cannot be renewed: {error}", file=sys.stderr)


def _be_ordinary() -> None:
    """Undo the niceness and the OOM score that Ray gives its workers, because tasks would inherit them.

    Niceness is per thread; only root can lower it.
    """
    for thread in os.listdir("/proc/self/task"):
        try:
            if os.getpriority(os.PRIO_PROCESS, int(thread)) > NORMAL_NICENESS:
                os.setpriority(os.PRIO_PROCESS, int(thread), NORMAL_NICENESS)
        except OSError:
            continue
    try:
        Path("/proc/self/oom_score_adj").write_text(NORMAL_OOM_SCORE)
    except OSError:
        return
