"""Terms of a job: its flavor and framework as they were at submission."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import NoReturn, Optional

from pydantic import BaseModel, ConfigDict, Field

from danlu.errors import InvalidSpec
from danlu.spec.flavors import Flavor
from danlu.spec.frameworks import Framework
from danlu.spec.job import JobSpec, Resources
from danlu.spec.money import Money
from danlu.spec.sentences import show
from danlu.spec.units import show_size


class Terms(BaseModel):
    """Stored with the job: later changes of flavors and frameworks do not change what it runs on or costs."""

    model_config = ConfigDict(frozen=True)

    price_per_hour: Optional[Money] = None
    """Total price of all nodes; None without a flavor."""

    currency: str = ""
    framework: Optional[Framework] = None
    setup: Optional[str] = None
    """Setup of the job, without that of the framework."""

    env: dict[str, str] = Field(default_factory=dict)
    """Variables of the job, without those of the framework."""


def flavors_in(spec: JobSpec) -> dict[str, str]:
    """Field of the job -> name of the flavor in it."""
    roles = {f"roles.{name}.flavor": role.flavor for name, role in spec.roles.items()}
    return {place: name for place, name in {"flavor": spec.flavor, **roles}.items() if name is not None}


def settle(
    spec: JobSpec, flavors: Mapping[str, Flavor], framework: Optional[Framework], currency: str
) -> tuple[JobSpec, Optional[Terms]]:
    """Return the job with its flavors and framework filled in, and the terms to store; None when it names none.

    `flavors` has every flavor that the job names. Raise InvalidSpec where the job contradicts them.
    """
    if not flavors_in(spec) and framework is None:
        return spec, None
    settled = _with_framework(spec, framework) if framework is not None else spec
    return _with_flavors(settled, flavors), Terms(
        price_per_hour=_price(spec, flavors),
        currency=currency if flavors_in(spec) else "",
        framework=framework,
        setup=spec.setup,
        env=dict(spec.env),
    )


def as_asked(values: Mapping[str, object], terms: Terms) -> dict[str, object]:
    """A stored spec without the parts of the framework, so that it can be submitted again."""
    if terms.framework is None:
        return dict(values)
    return {**values, "image": None, "setup": terms.setup, "env": dict(terms.env)}


def _price(spec: JobSpec, flavors: Mapping[str, Flavor]) -> Optional[Decimal]:
    if spec.flavor is not None:
        return flavors[spec.flavor].price_per_hour * spec.nodes
    of_roles = [flavors[role.flavor].price_per_hour * role.count for role in spec.roles.values() if role.flavor]
    return sum(of_roles, Decimal(0)) if of_roles else None


def _with_flavors(spec: JobSpec, flavors: Mapping[str, Flavor]) -> JobSpec:
    if spec.flavor is not None:
        return spec.model_copy(update={"resources": _shape("resources", spec.resources, flavors[spec.flavor])})
    roles = {
        name: role.model_copy(
            update={"resources": _shape(f"roles.{name}.resources", role.resources, flavors[role.flavor])}
        )
        if role.flavor is not None
        else role
        for name, role in spec.roles.items()
    }
    return spec.model_copy(update={"roles": roles})


def _shape(place: str, asked: Resources, flavor: Flavor) -> Resources:
    """Resources of a flavor. Raise InvalidSpec if the job also sets resources and they differ."""
    meant = Resources(device=flavor.device, cpus=flavor.cpus, memory=flavor.memory)
    for name in sorted(asked.model_fields_set):
        given, right = getattr(asked, name), getattr(meant, name)
        if given != right:
            told = f"{_told(name, given)} contradicts flavor {flavor.name!r}, which has {_told(name, right)}"
            _reject(f"{place}.{name}", f"{told}; remove one of them")
    return meant


def _told(name: str, value: object) -> str:
    if value is None:
        return f"no {name}"
    return show_size(value) if name == "memory" and isinstance(value, int) else str(value)


def _with_framework(spec: JobSpec, framework: Framework) -> JobSpec:
    if spec.image is not None:
        has = f"has image {framework.image!r}" if framework.image else "uses the node's own Python"
        _reject(
            "image",
            f"{show(spec.image)} conflicts with framework {framework.name!r}, which {has}; use one of them",
        )
    if framework.launch and spec.launch not in framework.launch:
        suits = ", ".join(framework.launch)
        _reject("launch", f"framework {framework.name!r} supports {suits}, got '{spec.launch}'")
    if spec.image_login is not None and framework.image is None:
        _reject("image_login", f"framework {framework.name!r} has no image; remove image_login")
    named = {*spec.env, *spec.secrets}
    added = {name: value for name, value in framework.env.items() if name not in named}
    setup = "\n".join(part.rstrip("\n") for part in (framework.setup, spec.setup) if part) or None
    return spec.model_copy(update={"image": framework.image, "setup": setup, "env": {**added, **spec.env}})


def _reject(place: str, problem: str) -> NoReturn:
    raise InvalidSpec(f"invalid job: {place}: {problem}", fields={place: problem})
