"""Flavors on the wire."""

from __future__ import annotations

from typing import Annotated, Optional

from pydantic import Field

from danlu.spec.fields import BytesOrNone, Device_, Number, Text
from danlu.spec.flavors import Flavor
from danlu.spec.money import Money, Price
from danlu.wire.base import Answer, Body


class MakeFlavor(Flavor):
    """A new flavor."""


class ChangeFlavor(Body):
    """What is omitted stays. Jobs that were submitted before keep the shape and the price that they have."""

    device: Optional[Device_] = None
    cpus: Annotated[Optional[float], Number] = Field(default=None, ge=0, le=4096, allow_inf_nan=False)
    """0: nothing is reserved."""

    memory: Optional[BytesOrNone] = None
    """0: nothing is reserved."""

    price_per_hour: Optional[Price] = None
    description: Optional[Annotated[Text, Field(max_length=1000)]] = None
    is_enabled: Optional[bool] = None


class FlavorOut(Answer):
    name: str
    device: str
    """Devices of a node: TYPE[:MODEL][:COUNT]."""

    cpus: Optional[float] = None
    memory: Optional[int] = None
    """In bytes."""

    price_per_hour: Money
    """Of one node; a decimal as text."""

    currency: str
    """Code of three letters, such as CNY."""

    description: str = ""
    is_enabled: bool = True
    """Whether new jobs may name it."""

    num_free: int = 0
    """So many nodes of this shape could start now."""

    num_total: int = 0
    """So many could start if nothing ran; 0: no node is of this shape."""
