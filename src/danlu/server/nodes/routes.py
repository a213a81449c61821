"""Nodes over HTTP."""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy.orm import Session

from danlu.server.identity import CurrentUser
from danlu.server.state import State
from danlu.spec.nodes import NodeInfo
from danlu.store import attempts, nodes
from danlu.wire.base import Page
from danlu.wire.nodes import DeviceOut, NodeOut

router = APIRouter(prefix="/nodes", tags=["nodes"])


@router.get("")
def list_nodes(_who: CurrentUser, state: State) -> Page[NodeOut]:
    return Page(items=state.database.read(_nodes))


def _nodes(session: Session) -> list[NodeOut]:
    claims = {(claim.node, claim.type, claim.device_id): claim.job_id for claim in attempts.device_claims(session)}
    tasks = attempts.live_tasks(session)
    found = []
    for row in nodes.list_nodes(session):
        info = NodeInfo.model_validate(row.info)
        here = [task for task in tasks if task.node == row.name]
        devices = [
            DeviceOut(**device.model_dump(), job=claims.get((row.name, device.type, device.id)))
            for device in info.devices
        ]
        found.append(
            NodeOut(
                name=row.name,
                engine=row.engine,
                is_reachable=row.is_reachable,
                cpus=info.cpus,
                cpus_reserved=sum(task.cpus for task in here),
                memory_bytes=info.memory_bytes,
                memory_reserved_bytes=sum(task.memory_bytes for task in here),
                devices=devices,
                num_tasks=len(here),
                has_sandbox=info.has_sandbox,
                has_own_network=info.has_own_network,
                image_tool=info.image_tool,
                image_problem=info.image_problem,
                missing=list(info.missing),
                seen_at=row.seen_at,
            )
        )
    return found
