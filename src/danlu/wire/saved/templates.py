"""Templates on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Optional

from pydantic import AfterValidator, Field

from danlu.spec.names import check_project_name
from danlu.wire.base import Answer, Body, Moment


class SaveTemplate(Body):
    name: str = Field(min_length=1, max_length=100)
    """What people choose it by."""

    project: Optional[Annotated[str, AfterValidator(check_project_name)]] = None
    """Where it is kept. When omitted: the first of yours that you may submit to."""

    is_shared: bool = False
    """Whether all members of the project see it; otherwise only you do."""

    spec: dict[str, Any]
    """Fields of a job; name and command may be omitted. Secrets are not kept."""


class TemplateOut(Answer):
    id: str
    name: str
    project: str
    owner: str
    is_shared: bool
    is_yours: bool
    """Whether you may replace and delete it."""

    spec: dict[str, Any]
    changed_at: Moment
