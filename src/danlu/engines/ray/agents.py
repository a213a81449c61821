"""The agents of a cluster: one actor per node, detached, made where it is missing and asked by the node's name."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import ray
from ray.actor import ActorHandle
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from danlu import __version__
from danlu.engines.ray.agent import Agent
from danlu.engines.ray.capacity import describe
from danlu.engines.ray.messages import Answer, Call

KEEP_SECONDS = 2.0
ANSWER_SECONDS = 4.0
START_SECONDS = 60.0
"""How long a new agent may take: its process imports Danlu and tries out the machine."""

CONCURRENT_CALLS = 16
log = logging.getLogger("danlu.ray")


class RayNode(NamedTuple):
    """A node as Ray has it."""

    id: str
    name: str
    address: str
    resources: Mapping[str, float]


class Agents:
    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._nodes: dict[str, RayNode] = {}
        """By name; those that are alive."""

        self._handles: dict[str, ActorHandle] = {}
        """By Ray's id of the node."""

        self._infos: dict[str, dict[str, Any]] = {}
        """By Ray's id of the node: what its agent says of it."""

        self._first_look = threading.Event()

    def keep(self) -> None:
        """Look after the agents for ever."""
        while True:
            try:
                self._look()
            except Exception as error:  # the cluster is away: what was seen last stays
                log.warning("cannot look after the agents: %s", error)
            time.sleep(KEEP_SECONDS)

    def nodes(self, held: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
        """The nodes that can be used or could be, as `NodeInfo` has them."""
        self._first_look.wait(START_SECONDS)
        available = ray._private.state.available_resources_per_node()
        with self._lock:
            known = [(node, self._infos.get(node.id)) for node in self._nodes.values()]
        return [
            describe(info, total=node.resources, free=available.get(node.id, {}), ours=held.get(node.id, {}))
            for node, info in known
            if info is not None
        ]

    def call(self, calls: Sequence[Call], seconds: float) -> list[Answer]:
        """Ask several agents at once. Who does not answer within some seconds is unknown; nobody waits for it."""
        answers: list[Answer] = [("unknown", None, f"{call.node} is not reachable") for call in calls]
        asked = {}
        for number, call in enumerate(calls):
            handle = self._handle_of(call.node)
            if handle is not None:
                asked[handle.do.remote(__version__, call.action, call.arguments)] = number
        if asked:
            ray.wait(list(asked), num_returns=len(asked), timeout=seconds)
        for reference, number in asked.items():
            try:
                answers[number] = ray.get(reference, timeout=0)
            except RayError as error:
                answers[number] = ("unknown", None, f"{calls[number].node} does not answer: {_short(error)}")
        return answers

    def resource_of(self, node: str) -> str:
        return f"node:{self._nodes[node].address}"

    def _handle_of(self, node: str) -> ActorHandle | None:
        with self._lock:
            found = self._nodes.get(node)
            return self._handles.get(found.id) if found is not None else None

    def _look(self) -> None:
        nodes = {node.name: node for node in alive_nodes()}
        with self._lock:
            self._nodes = nodes
            ids = {node.id for node in nodes.values()}
            for known in (self._handles, self._infos):
                for gone in set(known) - ids:
                    known.pop(gone)
        starting = [node for node in nodes.values() if node.id not in self._infos]
        for node in starting:
            self._handles.setdefault(node.id, self._make(node))
        self._greet(starting)
        self._first_look.set()

    def _make(self, node: RayNode) -> ActorHandle:
        """The agent of a node: the one that is there, or a new one."""
        actor = ray.remote(Agent)
        shared = self._config["settings"]
        settings = {
            **shared,
            "node_name": node.name,
            "work_dir": f"{self._config['node_dir']}/{shared['server_id']}/{node.name}",
            # two nodes may be two containers of one machine, which share its control groups
            "server_id": f"{shared['server_id']}-{node.name.replace('.', '-')}",
        }
        made: ActorHandle = actor.options(
            name=f"{self._config['prefix']}agent-{node.id}",
            get_if_exists=True,
            lifetime="detached",
            max_restarts=-1,
            max_concurrency=CONCURRENT_CALLS,
            num_cpus=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
        ).remote(json.dumps(settings), node.address)
        return made

    def _greet(self, nodes: Sequence[RayNode]) -> None:
        asked = {self._handles[node.id].do.remote(__version__, "node", ()): node for node in nodes}
        if not asked:
            return
        ray.wait(list(asked), num_returns=len(asked), timeout=START_SECONDS)
        for reference, node in asked.items():
            try:
                kind, value, message = ray.get(reference, timeout=0)
            except RayError as error:
                log.warning("the agent of %s did not start: %s", node.name, _short(error))
                continue
            if kind == "done":
                self._infos[node.id] = value
            else:
                log.warning("%s cannot be used: %s", node.name, message or value)


def alive_nodes() -> list[RayNode]:
    """The nodes that Ray has and that are for work: one without any CPU, such as many a head, is not."""
    return [
        RayNode(node["NodeID"], node["NodeName"], node["NodeManagerAddress"], node["Resources"])
        for node in ray.nodes()
        if node["Alive"] and node["Resources"].get("CPU", 0) > 0
    ]


def _short(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
