"""Checks a job's devices against those of nodes and flavors: adds a missing type, rejects unknown devices."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from danlu.server.invalid import bad_spec
from danlu.server.nodes.known import KnownNodes
from danlu.spec.devices import CPU, DeviceRequest
from danlu.spec.flavors import Flavor
from danlu.spec.job import JobSpec
from danlu.store.queries import catalog

USUAL = ("gpu", "npu")
"""Types that a job may wait for although no node has one now."""


def understood(session: Session, spec: JobSpec, nodes: KnownNodes) -> JobSpec:
    """The job with `a100:2` as `gpu:a100:2`. Raise InvalidSpec for a type or model that no node and no flavor has."""
    asked = {"resources": spec.resources}
    asked |= {f"roles.{name}.resources": role.resources for name, role in spec.roles.items()}
    if all(one.device.type == CPU for one in asked.values()):
        return spec
    known = _known(session, nodes)
    changed = {place: _settle(f"{place}.device", one.device, known) for place, one in asked.items()}
    if all(device == asked[place].device for place, device in changed.items()):
        return spec
    resources = {place: one.model_copy(update={"device": changed[place]}) for place, one in asked.items()}
    roles = {
        name: role.model_copy(update={"resources": resources[f"roles.{name}.resources"]})
        for name, role in spec.roles.items()
    }
    return spec.model_copy(update={"resources": resources["resources"], "roles": roles})


def _settle(place: str, device: DeviceRequest, known: Sequence[DeviceRequest]) -> DeviceRequest:
    if device.type == CPU:
        return device
    kinds = sorted({f"{one.type}:{one.model}" if one.model else one.type for one in known})
    shown = f"; nodes and flavors have {', '.join(kinds)}" if kinds else "; expected gpu:2 or npu:8"
    types = {one.type for one in known}
    if device.type in types or device.type in USUAL:
        models = [one.model or device.model for one in known if one.type == device.type]
        if device.model is not None and models and not any((one or "").startswith(device.model) for one in models):
            raise bad_spec(place, f"no node and no flavor has {device.type}:{device.model}{shown}")
        return device
    of_model = sorted({one.type for one in known if (one.model or "").startswith(device.type)})
    if len(of_model) == 1 and device.model is None:
        return DeviceRequest(type=of_model[0], model=device.type, count=device.count)
    raise bad_spec(place, f"no node and no flavor has devices of the type {device.type!r}{shown}")


def _known(session: Session, nodes: KnownNodes) -> list[DeviceRequest]:
    flavors = catalog.listed(session, Flavor)
    found = nodes.devices(session)
    found |= {(one.device.type, one.device.model) for one in flavors if one.device.type != CPU}
    return [DeviceRequest(type=kind, model=model) for kind, model in sorted(found, key=str)]
