"""The agents of a cluster: one detached actor per node, created when missing, called by the node's name."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ray
from ray.actor import ActorHandle
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from danlu import __version__
from danlu.engines.ray.agent import Agent
from danlu.engines.ray.capacity import describe, unusable
from danlu.engines.ray.messages import Answer, Call
from danlu.errors import EngineUnavailable

KEEP_SECONDS = 2.0
FRESH_SECONDS = 15.0
"""Older node tables are not used to decide that a node is gone."""

START_SECONDS = 60.0
"""How long the first call waits for new agents, which import Danlu and probe their machine."""

TRY_AGAIN_SECONDS = 60.0
"""How often an unusable node gets a new agent: an admin may have installed what it lacked."""

NAME_SECONDS = 10.0
"""How long to wait for the name of a killed agent to become free."""

CONCURRENT_CALLS, CONCURRENT_SHELLS = 16, 64
SHELLS = "shells"
log = logging.getLogger("danlu.ray")


class RayNode(NamedTuple):
    """A node as Ray describes it."""

    id: str
    name: str
    address: str
    resources: Mapping[str, float]


class Agents:
    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._nodes: dict[str, RayNode] = {}
        """Alive nodes by name."""

        self._looked_at = float("-inf")
        self._gone_since: dict[str, float] = {}
        """By name: nodes that were requested and that Ray does not list."""

        # the dicts below are keyed by Ray's node id, which changes when a node restarts
        self._handles: dict[str, ActorHandle] = {}
        self._greetings: dict[str, Any] = {}
        self._infos: dict[str, dict[str, Any]] = {}
        self._problems: dict[str, str] = {}
        self._tried_at: dict[str, float] = {}
        """When the agent of an unusable node was last replaced."""

        self._everybody_answered = threading.Event()

    def keep(self) -> None:
        """Create, check and replace agents, forever."""
        begun = time.monotonic()
        while True:
            try:
                self._look()
            except Exception as error:  # the cluster is offline: keep what was seen last
                log.warning("cannot look after the agents: %s", _short(error))
            if time.monotonic() - begun > START_SECONDS or not self._waits_for_answers():
                self._everybody_answered.set()
            time.sleep(KEEP_SECONDS if self._everybody_answered.is_set() else 0.1)

    def nodes(self, held: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
        """Return the fields of `NodeInfo` for every node. Unusable nodes have no capacity and state the problem."""
        self._everybody_answered.wait(START_SECONDS)
        available = ray._private.state.available_resources_per_node()
        with self._lock:
            return [
                describe(
                    self._infos[node.id],
                    total=node.resources,
                    free=available.get(node.id, {}),
                    ours=held.get(node.id, {}),
                )
                if node.id in self._infos
                else unusable(node.name, self._problems[node.id])
                for node in self._nodes.values()
                if node.id in self._infos or node.id in self._problems
            ]

    def call_shell(self, calls: Sequence[Call], seconds: float) -> list[Answer]:
        """Like `call`, for interactive requests: these have threads of their own, here and on the node."""
        return self.call(calls, seconds, group=SHELLS)

    def call(self, calls: Sequence[Call], seconds: float, *, group: str | None = None) -> list[Answer]:
        """Call several agents at once. One that does not answer in time gets "unknown"."""
        answers = [self._absent(call.node) for call in calls]
        asked = {}
        for number, call in enumerate(calls):
            handle = self._handle_of(call.node)
            if handle is not None:
                asked[handle.do.options(concurrency_group=group).remote(__version__, call.action, *call.arguments)] = (
                    number
                )
        if asked:
            ray.wait(list(asked), num_returns=len(asked), timeout=seconds)
        for reference, number in asked.items():
            node = calls[number].node
            try:
                answers[number] = ray.get(reference, timeout=0)
            except ActorDiedError as error:
                self._drop(node)
                answers[number] = ("unknown", None, f"the agent of {node} has ended: {_short(error)}")
            except RayError as error:
                answers[number] = ("unknown", None, f"{node} does not answer: {_short(error)}")
        return answers

    def resource_of(self, node: str) -> str:
        """Return the custom resource that exists on this node only."""
        with self._lock:
            if node not in self._nodes:
                raise EngineUnavailable(f"{node} is not part of the cluster")
            return f"node:{self._nodes[node].address}"

    def _absent(self, node: str) -> Answer:
        """The answer for a node without an agent: "gone", with the time since it is missing, or "unknown"."""
        now = time.monotonic()
        with self._lock:
            if node in self._nodes or now - self._looked_at > FRESH_SECONDS:
                return "unknown", None, f"{node} is not reachable"
            return "gone", now - self._gone_since.setdefault(node, now), f"{node} is not part of the cluster"

    def _handle_of(self, node: str) -> ActorHandle | None:
        with self._lock:
            found = self._nodes.get(node)
            return self._handles.get(found.id) if found is not None else None

    def _drop(self, node: str) -> None:
        """Have a new agent created for a node."""
        with self._lock:
            found = self._nodes.get(node)
            if found is not None:
                self._forget(found.id)

    def _forget(self, node_id: str) -> None:
        for known in (self._handles, self._greetings, self._infos, self._problems):
            known.pop(node_id, None)

    def _try_again(self) -> None:
        """Replace the agents of unusable nodes: new ones use what is installed on the node now.

        Reported problems stay visible meanwhile. Tasks are not affected: their shims are detached.
        """
        now = time.monotonic()
        with self._lock:
            due = [
                (node, self._handles[node.id], self._problems[node.id])
                for node in self._nodes.values()
                if node.id in self._problems and now - self._tried_at.get(node.id, float("-inf")) > TRY_AGAIN_SECONDS
            ]
            self._tried_at.update((node.id, now) for node, _, _ in due)
        for node, handle, problem in due:
            log.info("%s cannot be used and is tried again: %s", node.name, problem)
            ray.kill(handle, no_restart=True)
        _wait_until_free([self._name_of(node) for node, _, _ in due])
        for node, _, _ in due:
            self._greet(node)

    def _greet(self, node: RayNode) -> None:
        handle = self._make(node)
        with self._lock:
            self._handles[node.id] = handle
            self._greetings[node.id] = handle.do.remote(__version__, "node")

    def _look(self) -> None:
        nodes = {node.name: node for node in alive_nodes()}
        with self._lock:
            self._nodes, self._looked_at = nodes, time.monotonic()
            for name in nodes:
                self._gone_since.pop(name, None)
            for gone in set(self._handles) - {node.id for node in nodes.values()}:
                self._forget(gone)
            new = [node for node in nodes.values() if node.id not in self._handles]
        for node in new:
            self._greet(node)
        self._hear_greetings(list(nodes.values()))
        self._try_again()

    def _waits_for_answers(self) -> bool:
        with self._lock:
            known = (self._infos.keys() | self._problems.keys()) - self._greetings.keys()
            return not self._looked_at > 0 or any(node.id not in known for node in self._nodes.values())

    def _make(self, node: RayNode) -> ActorHandle:
        """Get the agent of a node, or create it."""
        shared = self._config["settings"]
        settings = {
            **shared,
            "node_name": node.name,
            "work_dir": f"{self._config['node_dir']}/{shared['server_id']}/{node.name}",
            # two nodes may be containers on one machine, which share its cgroups
            "server_id": f"{shared['server_id']}-{node.name.replace('.', '-')}",
        }
        actor = ray.remote(concurrency_groups={SHELLS: CONCURRENT_SHELLS})(Agent).options(
            name=self._name_of(node),
            get_if_exists=True,
            lifetime="detached",
            max_restarts=-1,
            max_concurrency=CONCURRENT_CALLS,
            num_cpus=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        )
        return actor.remote(json.dumps(settings), node.address, node.id)

    def _name_of(self, node: RayNode) -> str:
        return f"{self._config['prefix']}agent-{node.id}"

    def _hear_greetings(self, nodes: Sequence[RayNode]) -> None:
        with self._lock:
            waiting = {self._greetings[node.id]: node for node in nodes if node.id in self._greetings}
        if not waiting:
            return
        for reference in ray.wait(list(waiting), num_returns=len(waiting), timeout=KEEP_SECONDS)[0]:
            node = waiting[reference]
            try:
                kind, value, message = ray.get(reference, timeout=0)
            except ActorUnavailableError:  # it is being restarted
                kind, value, message = "again", None, ""
            except RayError as error:
                kind, value, message = "broken", None, f"Danlu's agent cannot run here: {last_line(error)}"
            with self._lock:
                self._greetings.pop(node.id, None)
                if kind == "done":
                    self._infos[node.id] = value
                    self._problems.pop(node.id, None)
                elif kind == "again":
                    self._forget(node.id)
                else:
                    self._problems[node.id] = message


def alive_nodes() -> list[RayNode]:
    """The nodes that can run work. Nodes without CPUs, as many heads are, cannot."""
    return [
        RayNode(node["NodeID"], node["NodeName"], node["NodeManagerAddress"], node["Resources"])
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) > 0
    ]


def _wait_until_free(names: Sequence[str]) -> None:
    """Wait until no actor has one of these names: a lookup before that returns the actor that is ending."""
    give_up_at = time.monotonic() + NAME_SECONDS
    for name in names:
        while _is_taken(name) and time.monotonic() < give_up_at:
            time.sleep(0.1)


def _is_taken(name: str) -> bool:
    try:
        ray.get_actor(name)
    except ValueError:
        return False
    return True


def all_addresses() -> list[str]:
    """Addresses of all machines that the cluster has or had."""
    return sorted({node["NodeManagerAddress"] for node in ray.nodes()})


def _short(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def last_line(error: Exception) -> str:
    """The last line of an error message, or the name of its class."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
