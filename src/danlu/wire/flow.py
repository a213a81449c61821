"""The data flow on the wire."""

from __future__ import annotations

from typing import Optional

from danlu.spec.flow import Direction, NodeKind, Relation
from danlu.wire.base import Answer, Moment


class FlowNode(Answer):
    """Something that data flows through."""

    id: str
    """`kind:key`, as edges name it; `hidden:<number>` for what you have no access to."""

    kind: NodeKind
    key: Optional[str] = None
    """Id of the run, job, artifact version or model version; path in the store. None when it is hidden."""

    label: str = ""
    """What people call it. Empty when it is hidden."""

    project: Optional[str] = None
    distance: int
    """Steps from the node that was asked for; negative towards what it comes from."""

    is_hidden: bool = False
    """Whether it belongs to a project that you have no access to."""

    state: Optional[str] = None
    """Of a job or a run."""

    created_at: Optional[Moment] = None
    deleted_at: Optional[Moment] = None
    """Since when the thing is deleted; its node stays."""


class FlowEdge(Answer):
    """Data goes from `source` to `target`."""

    source: str
    target: str
    relation: Relation


class FlowOut(Answer):
    """A page of the lineage of a node, the nearest first."""

    node: str
    """The one that was asked for."""

    direction: Direction
    depth: int
    nodes: list[FlowNode]
    edges: list[FlowEdge]
    """Those between a node of this page and one of this page or of an earlier one."""

    next: Optional[str] = None
    """Cursor of the next page; None on the last one."""
