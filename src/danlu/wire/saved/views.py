"""Saved views on the wire."""

from __future__ import annotations

from typing import Annotated, Optional, Union

from pydantic import AfterValidator, Field, StrictBool, StrictFloat, StrictInt, StringConstraints

from danlu.spec.names import check_project_name
from danlu.spec.states import Word
from danlu.wire.base import Answer, Body, Moment


class ViewPage(Word):
    """The page of the console that a view is of."""

    EXPERIMENTS = "experiments"
    COMPARE = "compare"


ShortText = Annotated[str, StringConstraints(max_length=500)]
SearchName = Annotated[str, StringConstraints(min_length=1, max_length=40)]
SearchValue = Union[
    StrictBool,
    StrictInt,
    Annotated[StrictFloat, Field(allow_inf_nan=False)],
    Annotated[str, StringConstraints(max_length=4000)],
    Annotated[list[ShortText], Field(max_length=300)],
]


class SaveView(Body):
    name: str = Field(min_length=1, max_length=100)
    """What people choose it by."""

    project: Optional[Annotated[str, AfterValidator(check_project_name)]] = None
    """Where it is kept. When omitted: the first of yours that you may submit to."""

    is_shared: bool = False
    """Whether all members of the project see it; otherwise only you do."""

    page: ViewPage
    search: Annotated[dict[SearchName, SearchValue], Field(max_length=40)]
    """What the address of the page says: filter, columns, group, zoom and others."""


class ViewOut(Answer):
    id: str
    name: str
    project: str
    owner: str
    is_shared: bool
    is_yours: bool
    """Whether you may replace and delete it."""

    page: ViewPage
    search: dict[str, SearchValue]
    changed_at: Moment
