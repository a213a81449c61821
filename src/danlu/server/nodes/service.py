"""The rules of nodes: every user sees them, admins drain them and undo that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone

from sqlalchemy.orm import Session

from danlu.auth import rights
from danlu.auth.identity import UserIdentity
from danlu.errors import NotFound
from danlu.server.audit.service import record_action
from danlu.server.invalid import bad_field
from danlu.server.scope import visible_project_ids
from danlu.server.state import ServerState
from danlu.spec.audit import Action
from danlu.spec.messages.catalogue import recognise
from danlu.spec.nodes import NodeInfo
from danlu.store.metrics.usage import UsageFiles
from danlu.store.queries import attempts, holdings, nodes, people
from danlu.store.sql.node_tables import DrainRow
from danlu.store.sql.tables import NodeRow, TaskRow
from danlu.wire.nodes import DeviceOut, DrainNode, DrainOut, EnvironmentOut, HoldingOut, NodeOut

_DAY = timedelta(days=1)
_LONGEST = timedelta(days=31)
Claims = Mapping[tuple[str, str, int], str]
"""(node, device type, device) -> job."""


def list_nodes(session: Session, usage: UsageFiles) -> list[NodeOut]:
    claims = {(claim.node, claim.type, claim.device_id): claim.job_id for claim in attempts.device_claims(session)}
    tasks: dict[str, list[TaskRow]] = {}
    for task in attempts.live_tasks(session):
        tasks.setdefault(task.node, []).append(task)
    drains = nodes.drains(session)
    names = people.names_of_users(session, {row.user_id for row in drains.values()})
    return [
        _node_out(row, tasks.get(row.name, ()), claims, usage, _drain_out(drains.get(row.name), names))
        for row in nodes.list_nodes(session)
    ]


def list_environments(session: Session, who: UserIdentity) -> list[EnvironmentOut]:
    """Environments of visible projects, on all nodes; the last used first."""
    projects = people.projects_by_id(session)
    visible = visible_project_ids(who)
    found = [
        EnvironmentOut(
            key=one.key,
            node=row.name,
            project=projects[one.project_id],
            python=one.python,
            size_bytes=one.size_bytes,
            packages=list(one.packages),
            made_at=_moment(one.made_at),
            used_at=_moment(one.used_at),
        )
        for row in nodes.list_nodes(session)
        for one in NodeInfo.model_validate(row.info).environments
        if one.project_id in projects and (visible is None or one.project_id in visible)
    ]
    return sorted(found, key=lambda one: one.used_at, reverse=True)


def list_holdings(
    session: Session, who: UserIdentity, since: datetime | None, until: datetime, *, skip: int, limit: int
) -> list[HoldingOut]:
    """Tasks that held resources between two moments. Jobs and owners are shown for visible projects only."""
    begin = until - _DAY if since is None else since
    if not timedelta(0) < until - begin <= _LONGEST:
        told = f"expected a moment up to 31 days before {until.isoformat()}, got {begin.isoformat()}"
        raise bad_field("since", told)
    rows = holdings.tasks_between(session, begin, until, skip=skip, limit=limit)
    projects, visible = people.projects_by_id(session), visible_project_ids(who)
    names = people.names_of_users(session, {row.owner_id for row in rows})
    return [_holding_out(row, projects, names, visible is None or row.project_id in visible) for row in rows]


def drain(session: Session, state: ServerState, who: UserIdentity, name: str, wanted: DrainNode) -> NodeOut:
    """Start nothing new on the node. If it is drained already, the new reason replaces the old one."""
    _check(session, who, name)
    now = state.now()
    nodes.drain(session, DrainRow(node=name, reason=wanted.reason, evicts=wanted.evict, user_id=who.user_id, at=now))
    record_action(session, who, Action.NODE_DRAIN, f"node/{name}", at=now, reason=wanted.reason, evict=wanted.evict)
    return get(session, state.usage, name)


def open_again(session: Session, state: ServerState, who: UserIdentity, name: str) -> NodeOut:
    """Let the node take jobs again. Does nothing if it is not drained."""
    _check(session, who, name)
    if nodes.open_again(session, name):
        record_action(session, who, Action.NODE_OPEN, f"node/{name}", at=state.now())
    return get(session, state.usage, name)


def get(session: Session, usage: UsageFiles, name: str) -> NodeOut:
    return next(node for node in list_nodes(session, usage) if node.name == name)


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, timezone.utc)


def _check(session: Session, who: UserIdentity, name: str) -> None:
    rights.check_admin(who, "only admins may drain nodes and resume scheduling on them")
    if name not in {row.name for row in nodes.list_nodes(session)}:
        raise NotFound(f"no node {name!r}; `danlu nodes` lists them")


def _holding_out(
    row: holdings.HeldTask, projects: Mapping[int, str], names: Mapping[int, str], is_visible: bool
) -> HoldingOut:
    held = HoldingOut(
        node=row.node,
        device_ids=list(row.device_ids),
        cpus=row.cpus,
        memory_bytes=row.memory_bytes,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )
    if not is_visible:
        return held
    whose = {"owner": names.get(row.owner_id), "project": projects.get(row.project_id)}
    return held.model_copy(update={"job": row.job_id, "name": row.name, "rank": row.rank, **whose})


def _drain_out(row: DrainRow | None, names: Mapping[int, str]) -> DrainOut | None:
    if row is None:
        return None
    return DrainOut(reason=row.reason, by=names[row.user_id], at=row.at, evict=row.evicts)


def _node_out(
    row: NodeRow, here: Sequence[TaskRow], claims: Claims, usage: UsageFiles, drained: DrainOut | None
) -> NodeOut:
    info = NodeInfo.model_validate(row.info)
    used = [seen for task in here if (seen := usage.last(task.job_id, task.attempt, task.rank))]
    devices = [
        DeviceOut(**device.model_dump(), job=claims.get((row.name, device.type, device.id))) for device in info.devices
    ]
    return NodeOut(
        name=row.name,
        engine=row.engine,
        is_reachable=row.is_reachable,
        cpus=info.cpus,
        cpus_reserved=sum(task.cpus for task in here),
        memory_bytes=info.memory_bytes,
        memory_reserved_bytes=sum(task.memory_bytes for task in here),
        cpus_used=round(sum(seen.get("cpu", 0.0) for seen in used), 3) if used else None,
        memory_used_bytes=int(sum(seen.get("memory", 0.0) for seen in used)) if used else None,
        devices=devices,
        num_tasks=len(here),
        has_sandbox=info.has_sandbox,
        has_own_network=info.has_own_network,
        image_tool=info.image_tool,
        image_problem=info.image_problem,
        image_problem_said=recognise(info.image_problem) if info.image_problem else None,
        pythons=list(info.pythons),
        missing=list(info.missing),
        missing_said=[recognise(text) for text in info.missing],
        seen_at=row.seen_at,
        drain=drained,
    )
