"""Frameworks on the wire."""

from __future__ import annotations

from typing import Annotated, Optional

from pydantic import Field

from danlu.spec.fields import EnvName, EnvValue, Text
from danlu.spec.frameworks import Framework, Purpose
from danlu.spec.job import LaunchMode
from danlu.wire.base import Answer, Body


class MakeFramework(Framework):
    """A new framework."""


class ChangeFramework(Body):
    """What is omitted stays. Jobs that were submitted before keep what they have."""

    title: Optional[Annotated[Text, Field(max_length=200)]] = None
    image: Optional[Annotated[Text, Field(max_length=600)]] = None
    """Empty text: the node's own Python."""

    setup: Optional[Annotated[Text, Field(max_length=20_000)]] = None
    """Empty text: none."""

    env: Optional[Annotated[dict[EnvName, EnvValue], Field(max_length=100)]] = None
    launch: Optional[Annotated[list[LaunchMode], Field(max_length=20)]] = None
    purpose: Optional[Purpose] = None
    description: Optional[Annotated[Text, Field(max_length=1000)]] = None
    is_enabled: Optional[bool] = None


class FrameworkOut(Answer):
    name: str
    title: str = ""
    image: Optional[str] = None
    """None: the node's own Python."""

    setup: Optional[str] = None
    env: dict[str, str] = {}
    launch: list[LaunchMode] = []
    """Launch modes that it suits; empty: all."""

    purpose: Purpose = Purpose.TRAINING
    """`training`: offered to jobs; `inference`: what registered models run in."""

    description: str = ""
    is_enabled: bool = True
    """Whether new jobs may name it."""
