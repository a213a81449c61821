"""Validate request bodies before they are sent, so that errors read the same with and without a server."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from danlu.errors import InvalidInput
from danlu.spec.sentences import field_errors

M = TypeVar("M", bound=BaseModel)


def body(kind: type[M], **values: Any) -> M:
    """Create a body. Raise InvalidInput with a sentence per invalid field. Fields that are None are not sent."""
    given = {name: value for name, value in values.items() if value is not None}
    try:
        return kind(**given)
    except ValidationError as error:
        fields = field_errors(error.errors(include_url=False), {"": kind.model_fields}, noun="this request")
        raise InvalidInput("; ".join(f"{place}: {told}" for place, told in fields.items()), fields=fields) from error
