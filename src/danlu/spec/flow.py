"""Data flow: kinds of nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass

from danlu.spec.states import Word


class NodeKind(Word):
    RUN = "run"
    ARTIFACT = "artifact"
    """One version of an artifact."""

    JOB = "job"
    STORE = "store"
    """A path in the store: `<bucket>/<key>`, or a folder `<bucket>/<prefix>/`."""

    CODE = "code"
    """Code that a client uploaded by content: `<project id>/<digest>`."""

    MODEL = "model"
    """One version of a model."""


class Relation(Word):
    """How two nodes are related."""

    INPUT = "input"
    """artifact -> run"""

    OUTPUT = "output"
    """run -> artifact, job -> store path"""

    DATA = "data"
    """store path -> job"""

    CODE = "code"
    """store path or code -> job"""

    MADE = "made"
    """job -> run, job -> artifact: created inside the job"""

    REGISTERED = "registered"
    """artifact, store path, job or run -> model version"""

    PART = "part"
    """store path -> store path: one contains the other"""


class Direction(Word):
    UP = "up"
    """Upstream: what it was made from."""

    DOWN = "down"
    """Downstream: what was made from it."""

    BOTH = "both"


@dataclass(frozen=True)
class NodeRef:
    """Reference to a node, written `kind:key`."""

    kind: NodeKind
    key: str

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.key}"

    @classmethod
    def parse(cls, text: str) -> NodeRef:
        """Parse `kind:key`, or a store path with its scheme. Raise ValueError."""
        kind, colon, key = text.partition(":")
        key = key[2:] if kind == NodeKind.STORE.value and key.startswith("//") else key
        known = [word.value for word in NodeKind]
        if not colon or not key or kind not in known:
            raise ValueError(
                f"expected KIND:ID with one of {', '.join(known)}, such as job:train-074123456789012345, got {text!r}"
            )
        return cls(NodeKind(kind), key)


def job_node(job_id: str) -> NodeRef:
    return NodeRef(NodeKind.JOB, job_id)


def run_node(run_id: str) -> NodeRef:
    return NodeRef(NodeKind.RUN, run_id)


def store_node(path: str) -> NodeRef:
    """The node of `store://bucket/key`, with or without the scheme."""
    return NodeRef(NodeKind.STORE, path[len("store://") :] if path.startswith("store://") else path)
