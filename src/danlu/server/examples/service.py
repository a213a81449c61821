"""Examples as users see them: what they show, what they need, and whether this cluster has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from danlu.errors import NotFound
from danlu.scheduler.policy.cluster import empty_node
from danlu.scheduler.policy.decide import place
from danlu.scheduler.policy.snapshot import QueuedJob
from danlu.server.examples.files import Example, load_examples, packaged
from danlu.spec.job import JobSpec
from danlu.spec.messages.catalogue import recognise
from danlu.spec.nodes import NodeInfo
from danlu.spec.reasons import Reason
from danlu.spec.roles import groups
from danlu.spec.sentences import show, suggestion
from danlu.store.queries import nodes
from danlu.wire.examples import ExampleOut, ExampleRow, NeedKind, NeedOut


def list_examples(session: Session, now: datetime) -> list[ExampleRow]:
    infos = _reachable(session)
    return [ExampleRow(**_told(example, infos, now)) for example in load_examples(packaged()).values()]


def get_example(session: Session, name: str, now: datetime) -> ExampleOut:
    known = load_examples(packaged())
    if name not in known:
        raise NotFound(f"there is no example {show(name)}{suggestion(name, list(known))}")
    found = known[name]
    return ExampleOut(
        **_told(found, _reachable(session), now),
        before=found.about.before,
        job=found.job,
        code_folder=found.code_folder,
        files=found.files,
    )


def _reachable(session: Session) -> list[NodeInfo]:
    return [NodeInfo.model_validate(row.info) for row in nodes.list_nodes(session) if row.is_reachable]


def _told(example: Example, infos: Sequence[NodeInfo], now: datetime) -> dict[str, Any]:
    about = example.about
    return {
        "name": example.name,
        "title": about.title,
        "about": about.about,
        "tags": about.tags,
        "seconds": about.seconds,
        "needs": list(_needs(example, infos, now)),
        "is_job": example.spec is not None,
    }


def _needs(example: Example, infos: Sequence[NodeInfo], now: datetime) -> Iterator[NeedOut]:
    for name in example.about.needs:
        yield _software(name, infos) if example.spec is not None else NeedOut(kind=NeedKind.SOFTWARE, name=name)
    if example.spec is None:
        return
    if example.spec.image is not None:
        yield _image(example.spec.image, infos)
    if any(group.resources.device.is_scarce for group in groups(example.spec)):
        yield _devices(example.spec, infos, now)


def _software(name: str, infos: Sequence[NodeInfo]) -> NeedOut:
    told = [info for info in infos if info.software is not None]
    if not told:
        return NeedOut(kind=NeedKind.SOFTWARE, name=name)
    is_met = any(name in (info.software or ()) for info in told)
    if is_met:
        return NeedOut(kind=NeedKind.SOFTWARE, name=name, is_met=True)
    return _lacking(NeedKind.SOFTWARE, name, f"{name} is not installed on any node")


def _image(name: str, infos: Sequence[NodeInfo]) -> NeedOut:
    """Whether images can run here. Whether this image exists is known only when it is pulled."""
    if any(info.image_tool for info in infos):
        return NeedOut(kind=NeedKind.IMAGES, name=name, is_met=True)
    why = "; ".join(f"{info.name}: {info.image_problem or 'its engine runs none'}" for info in infos)
    return _lacking(NeedKind.IMAGES, name, f"no node runs images: {why or 'there is no node'}")


def _devices(spec: JobSpec, infos: Sequence[NodeInfo], now: datetime) -> NeedOut:
    """Whether the job would fit the cluster if it were idle."""
    scarce = [group for group in groups(spec) if group.resources.device.is_scarce]
    name = ", ".join(
        f"{group.count} × {group.resources.device}" if group.count > 1 else str(group.resources.device)
        for group in scarce
    )
    alone = QueuedJob(id="example", spec=spec, attempt=1, queued_at=now)
    found = place(alone, [empty_node(info) for info in infos])
    if isinstance(found, Reason):
        return _lacking(NeedKind.DEVICES, name, found.message)
    return NeedOut(kind=NeedKind.DEVICES, name=name, is_met=True)


def _lacking(kind: NeedKind, name: str, why: str) -> NeedOut:
    return NeedOut(kind=kind, name=name, is_met=False, why=why, said=recognise(why))
