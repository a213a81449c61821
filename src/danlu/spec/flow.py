"""The data flow: what its nodes and edges are called."""

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
    """A folder of code that a client has uploaded by its content: `<project id>/<digest>`."""

    MODEL = "model"
    """One version of a model."""


class Relation(Word):
    """Why data goes from a node to another one."""

    INPUT = "input"
    """artifact -> run"""

    OUTPUT = "output"
    """run -> artifact, job -> store path"""

    DATA = "data"
    """store path -> job"""

    CODE = "code"
    """store path or code -> job"""

    MADE = "made"
    """job -> run, job -> artifact: it was made inside the job"""

    REGISTERED = "registered"
    """artifact, store path, job or run -> model version"""

    PART = "part"
    """store path -> store path: what was written below the one is read through the other"""


class Direction(Word):
    UP = "up"
    """Where it comes from."""

    DOWN = "down"
    """What became of it."""

    BOTH = "both"


@dataclass(frozen=True)
class NodeRef:
    """The name of a node, written `kind:key`."""

    kind: NodeKind
    key: str

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.key}"

    @classmethod
    def parse(cls, text: str) -> NodeRef:
        """Read `kind:key`, or a path in the store with its scheme. Raise ValueError with what would be right."""
        kind, colon, key = text.partition(":")
        key = key[2:] if kind == NodeKind.STORE.value and key.startswith("//") else key
        known = [word.value for word in NodeKind]
        if not colon or not key or kind not in known:
            raise ValueError(
                f"{text!r} is not a node; one of {', '.join(known)}, a colon and an id would be right, "
                "such as job:train-074123456789012345"
            )
        return cls(NodeKind(kind), key)


def job_node(job_id: str) -> NodeRef:
    return NodeRef(NodeKind.JOB, job_id)


def run_node(run_id: str) -> NodeRef:
    return NodeRef(NodeKind.RUN, run_id)


def store_node(path: str) -> NodeRef:
    """Of `store://bucket/key`, or without the scheme."""
    return NodeRef(NodeKind.STORE, path[len("store://") :] if path.startswith("store://") else path)
