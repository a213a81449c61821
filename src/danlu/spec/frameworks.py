"""Frameworks: named environments that commands run in."""

from __future__ import annotations

from typing import Annotated, Optional

from pydantic import BaseModel, ConfigDict, Field

from danlu.spec.fields import EnvName, EnvValue, FrameworkName, ImageName, Text
from danlu.spec.job import LaunchMode


class Framework(BaseModel):
    """An image, or the node's own Python, with what has to be set up in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: FrameworkName
    """What jobs call it, such as pytorch-2.13-cpu; it cannot be changed."""

    title: Annotated[Text, Field(max_length=200)] = ""
    """What people call it, such as PyTorch 2.13."""

    image: Optional[ImageName] = None
    """Container image whose files the command sees; none: the node's own Python."""

    setup: Optional[Annotated[Text, Field(max_length=20_000)]] = None
    """Shell script that runs before the job's own setup."""

    env: dict[EnvName, EnvValue] = Field(default_factory=dict, max_length=100)
    """Variables of the command; those of the job win."""

    launch: tuple[LaunchMode, ...] = Field(default=(), max_length=20)
    """Launch modes that it suits; all when left out."""

    description: Annotated[Text, Field(max_length=1000)] = ""
    """What is in it."""

    is_enabled: bool = True
    """Whether new jobs may name it."""
