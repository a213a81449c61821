"""Catalogues: files with flavors and frameworks that are loaded together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Optional, TypeVar, Union

import yaml
from pydantic import BaseModel, ValidationError

from danlu.client.cluster.flavors import Flavors
from danlu.client.cluster.frameworks import Frameworks
from danlu.errors import AlreadyExists, InvalidInput
from danlu.spec.devices import CPU, DeviceRequest
from danlu.spec.flavors import Flavor
from danlu.spec.frameworks import Framework
from danlu.spec.sentences import field_errors, show, suggestion
from danlu.spec.units import parse_device

M = TypeVar("M", bound=BaseModel)
SUFFIX = ".yml"
_PARTS: Mapping[str, type[BaseModel]] = {"flavors": Flavor, "frameworks": Framework}


class Catalogue(NamedTuple):
    flavors: list[Flavor]
    frameworks: list[Framework]


class Loaded(NamedTuple):
    kind: str
    name: str
    is_new: bool


def shipped() -> list[str]:
    """Names of the catalogues that come with Danlu."""
    found = (entry.name for entry in files("danlu.client.cluster").iterdir())
    return sorted(name[: -len(SUFFIX)] for name in found if name.endswith(SUFFIX))


def read_text(name_or_path: str) -> str:
    """Return the text of a shipped catalogue or of a file. Raise InvalidInput for neither."""
    if name_or_path in shipped():
        return files("danlu.client.cluster").joinpath(f"{name_or_path}{SUFFIX}").read_text(encoding="utf-8")
    try:
        return Path(name_or_path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = suggestion(name_or_path, shipped())
        raise InvalidInput(f"no catalogue and no file {name_or_path!r}{known}") from error


def parse(text: str) -> Catalogue:
    """Validate a whole catalogue. Raise InvalidInput naming the entry and the field."""
    try:
        values: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput(f"the catalogue is not valid YAML: {getattr(error, 'problem', error)}") from error
    if not isinstance(values, dict) or not values or not set(values) <= set(_PARTS):
        raise InvalidInput(f"expected a catalogue with {' and '.join(_PARTS)}, got {show(values)[:200]}")
    return Catalogue(
        [*_entries(values.get("flavors"), "flavors", Flavor)],
        [*_entries(values.get("frameworks"), "frameworks", Framework)],
    )


def adapted(catalogue: Catalogue, *, device: Optional[str] = None, devices_only: bool = False) -> Catalogue:
    """Return the catalogue with another device type (`npu:910b`, or `cpu` for none), or without cores and memory."""
    flavors = [
        one.model_copy(
            update={
                **({"device": _replaced(one.device, parse_device(device))} if device is not None else {}),
                **({"cpus": None, "memory": None} if devices_only else {}),
            }
        )
        for one in catalogue.flavors
    ]
    return catalogue._replace(flavors=flavors)


def load(catalogue: Catalogue, *, flavors: Flavors, frameworks: Frameworks) -> Iterator[Loaded]:
    """Add its entries, or update existing ones of the same names; yield each. For admins."""
    for flavor in catalogue.flavors:
        yield Loaded("flavor", flavor.name, _put(flavors, flavor, empty={"cpus": 0, "memory": 0}))
    for framework in catalogue.frameworks:
        yield Loaded("framework", framework.name, _put(frameworks, framework, empty={"image": "", "setup": ""}))


def _put(nouns: Union[Flavors, Frameworks], thing: Union[Flavor, Framework], empty: Mapping[str, Any]) -> bool:
    """Add or update an entry; return True when it is new."""
    values = thing.model_dump(mode="json", exclude={"name", "is_enabled"})
    try:
        nouns.add(thing.name, **{name: value for name, value in values.items() if value is not None})
    except AlreadyExists:
        nouns.change(
            thing.name, **{name: empty.get(name) if value is None else value for name, value in values.items()}
        )
        return False
    return True


def _entries(rows: Any, place: str, of: type[M]) -> Iterator[M]:
    if rows is None:
        return
    if not isinstance(rows, list):
        raise InvalidInput(f"{place}: expected a list, got {show(rows)[:200]}")
    names: set[str] = set()
    for number, row in enumerate(rows, start=1):
        try:
            found = of.model_validate(row)
        except ValidationError as error:
            problems = field_errors(error.errors(include_url=False), {"": of.model_fields}, noun=f"an entry of {place}")
            told = "; ".join(f"{place} {number}: {field}: {problem}" for field, problem in problems.items())
            raise InvalidInput(told, fields=problems) from error
        name = str(getattr(found, "name", ""))
        if name in names:
            raise InvalidInput(f"{place} {number}: {name!r} appears twice")
        names.add(name)
        yield found


def _replaced(device: DeviceRequest, by: DeviceRequest) -> DeviceRequest:
    if device.type == CPU:
        return device
    return DeviceRequest() if by.type == CPU else by.model_copy(update={"count": device.count})
