"""Networks of jobs: a private one, or that of the nodes with ports that are agreed on."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from danlu.spec.fields import Number
from danlu.spec.states import Word


class Network(Word):
    """Which network the tasks are on."""

    OWN = "own"
    HOST = "host"


def _go_with_host(ports: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
    if ports and info.data.get("network") is not Network.HOST:
        raise ValueError("goes with network: host; on a network of its own a job has all ports to itself")
    return tuple(dict.fromkeys(ports))


FixedPorts = Annotated[
    tuple[Annotated[int, Number, Field(ge=1024, le=65535)], ...], Field(max_length=20), AfterValidator(_go_with_host)
]
