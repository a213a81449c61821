"""What runs on every node of a Ray cluster: an actor that holds a `LocalEngine` and does what the server asks.

It owns no process. The engine starts the shims detached, so that neither the actor's end nor Ray's touches them, and
a new actor finds them by their folders.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

from danlu import __version__
from danlu.engines.base import Credentials, TerminalSize
from danlu.engines.local import LocalEngine
from danlu.engines.local.engine import Cluster
from danlu.engines.ray.messages import Answer, HandleFields, handle_of
from danlu.engines.ray.ports import SocketChannel
from danlu.engines.ray.shells import Shells
from danlu.engines.settings import EngineSettings
from danlu.errors import DanluError
from danlu.launch import Plan
from danlu.node.supervise import lease
from danlu.node.supervise.overlay import interface_of
from danlu.node.task import Overlay

NORMAL_NICENESS, NORMAL_OOM_SCORE = 0, "0"
RENEW_SECONDS = 5.0


class Agent:
    """The class of the actor. Arguments and answers are plain data, so that two versions can tell each other apart."""

    def __init__(self, settings: str, address: str, node_id: str) -> None:
        """`settings`: JSON, `work_dir` may begin with ~. `address` of this node, and `node_id` as Ray has it."""
        _be_ordinary()
        chosen = EngineSettings.model_validate_json(settings)
        chosen = chosen.model_copy(
            update={"work_dir": chosen.work_dir.expanduser(), "hide": (*chosen.hide, *private_paths())}
        )
        self._engine = LocalEngine(chosen)
        self._node = self._engine.nodes()[0].model_copy(update={"address": address, "interface": interface_of(address)})
        self._lease = _Lease(str(chosen.lease_file), node_id, chosen.task_lease_seconds)
        Thread(target=self._lease.keep, daemon=True).start()
        self._shells = Shells()
        self._actions: dict[str, Callable[..., Any]] = {
            "node": lambda: self._node.model_dump(mode="json"),
            "start": self._start,
            "poll": self._poll,
            "read_log": lambda handle, offset, limit: self._engine.read_log(handle_of(handle), offset, limit),
            "read_marks": self._read_marks,
            "read_log_piece": lambda handle, offset, limit, mark: (
                self._engine.read_log(handle_of(handle), offset, limit),
                self._read_marks(handle, mark),
            ),
            "read_usages": lambda asked: self._engine.read_usages(
                [(handle_of(handle), generation, offset) for handle, generation, offset in asked]
            ),
            "stop": lambda handles, grace: self._engine.stop([handle_of(one) for one in handles], grace),
            "open_shell": self._open_shell,
            "connect": lambda handle, port: self._shells.add(
                SocketChannel(self._engine.connect(handle_of(handle), port)), apart=False
            ),
            "shell": self._shells.do,
            "forget": self._engine.forget,
            "leftovers": lambda: list(self._engine.leftovers()),
        }

    def do(self, version: str, action: str, *arguments: Any) -> Answer:
        """Carry out one request. What the engine refuses is an answer, not an error of the actor."""
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
        cluster = Cluster(joined, tuple(sorted(self._lease.addresses)))
        self._engine.start_here(plan, tasks, credentials=Credentials(**credentials), cluster=cluster)

    def _open_shell(
        self, handle: HandleFields, command: Sequence[str], size: tuple[int, int] | None, apart: bool
    ) -> str:
        terminal = None if size is None else TerminalSize(*size)
        opened = self._engine.open_channel(handle_of(handle), command, terminal, apart=apart)
        return self._shells.add(opened, apart=apart and terminal is None)

    def _read_marks(self, handle: HandleFields, offset: int) -> list[tuple[int, float]]:
        return [(mark.offset, mark.at) for mark in self._engine.read_marks(handle_of(handle), offset)]

    def _poll(self, handles: Sequence[HandleFields]) -> list[dict[str, Any] | None]:
        self._shells.close_forgotten()
        seen = self._engine.poll([handle_of(one) for one in handles])
        return [None if one is None else one.model_dump(mode="json") for one in seen]


class _Lease:
    """Looks at the cluster, and renews the lease of this node's tasks for as long as it says that the node is alive."""

    def __init__(self, path: str, node_id: str, seconds: float) -> None:
        self._path, self._node_id, self._seconds = path, node_id, seconds
        self.addresses: frozenset[str] = frozenset()
        """Of all nodes that the cluster has had."""

        self._look()

    def keep(self) -> None:
        """Never returns."""
        while True:
            time.sleep(min(RENEW_SECONDS, self._seconds / 5))
            self._look()

    def _look(self) -> None:
        """What counts is when it was asked, not when the answer came."""
        import ray

        asked_at = lease.now()
        try:
            nodes = ray.nodes()
            self.addresses |= {node["NodeManagerAddress"] for node in nodes}
            if any(node["NodeID"] == self._node_id and node["Alive"] for node in nodes):
                lease.renew(self._path, asked_at)
        except Exception as error:  # the head is away, or the disk is full: the next look may succeed
            print(f"the lease cannot be renewed: {error}", file=sys.stderr)


def _be_ordinary() -> None:
    """Ray's workers are nicer than others and the first to go when memory runs out; tasks would inherit both.

    Niceness belongs to a thread; only root may lower it.
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


def private_paths() -> tuple[Path, ...]:
    """What no job may see: Ray's files of this node, and where its token may be."""
    import ray

    token = os.environ.get("RAY_AUTH_TOKEN_PATH")
    session = ray._private.worker._global_node.get_session_dir_path()
    return (Path(session).parent, *((Path(token),) if token else ()))
