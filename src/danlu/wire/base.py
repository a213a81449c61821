"""What all bodies have in common."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, Generic, Optional, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

from danlu.spec.messages.catalogue import Message

T = TypeVar("T")


def _utc(value: datetime) -> datetime:
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


Moment = Annotated[datetime, AfterValidator(_utc)]


class Body(BaseModel):
    """A body that this version knows in full: requests."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(BaseModel):
    """A body that a newer server may have added to: responses."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Page(Answer, Generic[T]):
    """One page of a list. `next` is the cursor of the page after it; None on the last one."""

    items: list[T]
    next: Optional[str] = None


class ErrorOut(Answer):
    """The one shape of every failure."""

    error: str
    message: str
    fields: dict[str, str] = {}
    said: dict[str, Message] = {}
    """What is wrong with fields, with codes and parameters: for other languages."""

    message_said: Optional[Message] = None
    """The same of the message itself."""


class GoneOut(Answer):
    """Something that is not there any more, or not for you."""

    id: str
