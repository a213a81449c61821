"""Frameworks: named environments for commands."""

from __future__ import annotations

from typing import Annotated, Optional

from pydantic import BaseModel, ConfigDict, Field

from danlu.spec.fields import EnvName, EnvValue, FrameworkName, ImageName, Text
from danlu.spec.job import LaunchMode
from danlu.spec.states import Word


class Purpose(Word):
    """What an environment is for."""

    TRAINING = "training"
    INFERENCE = "inference"


class Framework(BaseModel):
    """An image, or the node's own Python, with a setup script and variables."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: FrameworkName
    """Name that jobs use, such as pytorch-2.13-cpu; it cannot be changed."""

    title: Annotated[Text, Field(max_length=200)] = ""
    """Display name, such as PyTorch 2.13."""

    image: Optional[ImageName] = None
    """Container image for the command; none: the node's own Python."""

    setup: Optional[Annotated[Text, Field(max_length=20_000)]] = None
    """Shell script that runs before the job's own setup."""

    env: dict[EnvName, EnvValue] = Field(default_factory=dict, max_length=100)
    """Variables of the command; variables of the job override them."""

    launch: tuple[LaunchMode, ...] = Field(default=(), max_length=20)
    """Launch modes that it supports; all when omitted."""

    purpose: Purpose = Purpose.TRAINING
    """`training`: offered to jobs; `inference`: what registered models run in."""

    description: Annotated[Text, Field(max_length=1000)] = ""
    """What it contains."""

    is_enabled: bool = True
    """Whether new jobs may use it."""
