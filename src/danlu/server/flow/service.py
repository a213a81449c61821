"""The rules of the data flow: who sees which nodes, and how users name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from danlu.auth.identity import UserIdentity
from danlu.content.names import is_artifact_id
from danlu.errors import NotFound
from danlu.server.artifacts import service as artifacts_service
from danlu.server.flow import recording
from danlu.server.invalid import bad_field
from danlu.server.jobs import service as jobs_service
from danlu.server.models import service as models_service
from danlu.server.runs import service as runs_service
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.fields import is_job_id
from danlu.spec.flow import Direction, NodeKind, NodeRef, Relation, job_node, run_node
from danlu.spec.models import is_version_id, model_node, parse_named
from danlu.spec.runs import is_run_id
from danlu.store.queries import flow, jobs, people, runs
from danlu.store.queries.flow_walk import FoundNode, Reach
from danlu.wire.flow import FlowEdge, FlowNode, FlowOut


def reach_of(direction: Direction, *, depth: int, limit: int, after: int) -> Reach:
    """How far to walk, and which page to return."""
    return Reach(direction.value, depth, limit=limit, after=after)


def resolve_known(session: Session, who: UserIdentity, text: str) -> tuple[NodeRef, bool]:
    """The node that `text` names, and whether it is in the data flow."""
    ref = resolve(session, who, text)
    return ref, flow.find(session, ref) is not None


def walk(session: Session, who: UserIdentity, start: NodeRef, reach: Reach) -> FlowOut:
    """A page of the data flow around a node. Raise NotFound when it does not exist, or the user may not see it."""
    found = flow.neighbourhood(session, start, reach, project_ids=visible_project_ids(who))
    if found is None:
        raise _unknown(start)
    names = {node.number: _name(node) for node in [*found.nodes, *found.others]}
    edges = [
        FlowEdge.model_construct(
            source=names[edge.source], target=names[edge.target], relation=_RELATIONS[edge.relation]
        )
        for edge in found.edges
    ]
    return FlowOut(
        node=str(start),
        direction=Direction(reach.direction),
        depth=reach.depth,
        nodes=_nodes_out(session, found.nodes),
        edges=edges,
        next=None if found.next is None else str(found.next),
    )


def resolve(session: Session, who: UserIdentity, text: str) -> NodeRef:
    """The node that `text` names: `kind:key`, an id, a path in the store, or a kind and a name."""
    for kind, is_id in _IDS.items():
        if is_id(text):
            return NodeRef(kind, text)
    try:
        ref = NodeRef.parse(text)
    except ValueError as error:
        raise bad_field("node", str(error)) from error
    if ref.kind in _IDS and not _IDS[ref.kind](ref.key):
        return _NAMES[ref.kind](session, who, ref.key)
    known = flow.find(session, ref)
    return ref if known is None else NodeRef(ref.kind, known.key)


def _job(session: Session, who: UserIdentity, name: str) -> NodeRef:
    return job_node(jobs_service.find(session, who, name).id)


def _run(session: Session, who: UserIdentity, name: str) -> NodeRef:
    return run_node(runs_service.find(session, who, name).id)


def _artifact(session: Session, who: UserIdentity, name: str) -> NodeRef:
    return artifacts_service.node_of(artifacts_service.find_named(session, who, name, None))


def _model(session: Session, who: UserIdentity, text: str) -> NodeRef:
    try:
        named = parse_named(text)
    except ValueError as error:
        raise bad_field("node", str(error)) from error
    model = models_service.find_model(session, who, named.name, named.project)
    return model_node(models_service.find_version(session, model, named.version).id)


_IDS: dict[NodeKind, Callable[[str], bool]] = {
    NodeKind.JOB: is_job_id,
    NodeKind.RUN: is_run_id,
    NodeKind.ARTIFACT: is_artifact_id,
    NodeKind.MODEL: is_version_id,
}
_NAMES: dict[NodeKind, Callable[[Session, UserIdentity, str], NodeRef]] = {
    NodeKind.JOB: _job,
    NodeKind.RUN: _run,
    NodeKind.ARTIFACT: _artifact,
    NodeKind.MODEL: _model,
}


_RELATIONS = {relation.value: relation for relation in Relation}


def adopt(session: Session, state: ServerState, ref: NodeRef) -> None:
    """Add a job or run that is older than the data flow, when a user first looks it up."""
    job = jobs.get_job(session, ref.key) if ref.kind is NodeKind.JOB else None
    if job is not None:
        recording.job_submitted(session, job, state.now())
    run = runs.get_run(session, ref.key) if ref.kind is NodeKind.RUN else None
    if run is not None:
        recording.run_made(session, run, state.now())


def _unknown(node: NodeRef) -> NotFound:
    return NotFound(
        f"no data flow is recorded for {str(node)!r}; expected the id of a job, a run, an artifact or a model "
        "version, or store://BUCKET/PATH of something that a job has read or written"
    )


def _nodes_out(session: Session, found: Sequence[FoundNode]) -> list[FlowNode]:
    projects = people.projects_by_id(session)
    states = {
        **jobs.states_of(session, [node.key for node in found if node.kind == NodeKind.JOB.value]),
        **runs.states_of(session, [node.key for node in found if node.kind == NodeKind.RUN.value]),
    }
    return [_node_out(node, projects.get(node.project_id or 0), states.get(node.key)) for node in found]


def _node_out(node: FoundNode, project: str | None, state: str | None) -> FlowNode:
    if node.is_hidden:
        return FlowNode(id=_name(node), kind=NodeKind(node.kind), distance=node.distance, is_hidden=True)
    return FlowNode.model_construct(
        id=_name(node),
        kind=NodeKind(node.kind),
        key=node.key,
        label=node.label,
        project=project,
        distance=node.distance,
        state=state,
        created_at=node.created_at,
        deleted_at=node.deleted_at,
    )


def _name(node: FoundNode) -> str:
    return f"hidden:{node.number}" if node.is_hidden else f"{node.kind}:{node.key}"
