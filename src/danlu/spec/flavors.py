"""Flavors: named machine shapes with a price per hour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Annotated, Optional

from pydantic import BaseModel, ConfigDict, Field

from danlu.spec.devices import CPU, DeviceRequest
from danlu.spec.fields import Bytes, Device_, FlavorName, Number, Text
from danlu.spec.money import Price
from danlu.spec.nodes import NodeInfo

_GIB = 1 << 30


class Flavor(BaseModel):
    """Resources of one node of a job, and their price."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: FlavorName
    """Name that jobs use; it cannot be changed."""

    device: Device_ = DeviceRequest()
    """Devices of a node: TYPE[:MODEL][:COUNT]."""

    cpus: Annotated[Optional[float], Number] = Field(default=None, gt=0, le=4096, allow_inf_nan=False)
    """Cores reserved on a node; nothing is reserved when omitted."""

    memory: Optional[Bytes] = None
    """Memory reserved on a node, such as 64GiB."""

    price_per_hour: Price = Decimal(0)
    """Price of one node, in the server's currency."""

    description: Annotated[Text, Field(max_length=1000)] = ""
    """What it is for."""

    is_enabled: bool = True
    """Whether new jobs may use it."""


def suggested(nodes: Iterable[NodeInfo]) -> list[Flavor]:
    """Suggested flavors for these nodes, without prices: one device, half a node and a whole node of each kind."""
    by_kind: dict[tuple[str, Optional[str], int], list[NodeInfo]] = {}
    for node in nodes:
        kinds = {(device.type, device.model) for device in node.devices}
        for kind, model in kinds:
            count = sum((device.type, device.model) == (kind, model) for device in node.devices)
            by_kind.setdefault((kind, model, count), []).append(node)
        if not kinds:
            by_kind.setdefault((CPU, None, max(1, int(node.cpus))), []).append(node)
    found: dict[str, Flavor] = {}
    for (kind, model, count), alike in sorted(by_kind.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        for part in sorted({1, max(1, count // 2), count}):
            flavor = _share(kind, model, part, count, alike)
            found.setdefault(flavor.name, flavor)
    return list(found.values())


def _share(kind: str, model: Optional[str], part: int, count: int, nodes: Sequence[NodeInfo]) -> Flavor:
    """A flavor with `part` of `count` devices or cores, and that fraction of the smallest node's other resources."""
    cpus = min(node.cpus for node in nodes) * part / count
    memory = min(node.memory_bytes for node in nodes) * part // count
    noun = "core" if kind == CPU else "device"
    told = f"one {noun}" if part == 1 else f"{part} {noun}s"
    return Flavor(
        name="-".join(word for word in (kind, _word(model), str(part)) if word),
        device=DeviceRequest(type=kind, model=model, count=part) if kind != CPU else DeviceRequest(),
        cpus=max(1.0, float(int(cpus))) if cpus >= 1 else round(cpus, 2) or None,
        memory=memory // _GIB * _GIB or memory or None,
        description=f"{told}, a whole node" if part == count else f"{told} of {count}",
    )


def _word(model: Optional[str]) -> str:
    return "".join(char if char.isalnum() or char in "._" else "-" for char in (model or "").lower()).strip("-._")[:40]
