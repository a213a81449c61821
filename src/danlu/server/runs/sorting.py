"""Cursors of sorted lists of runs: the place of the last run, as JSON in base64."""

from __future__ import annotations

import base64
import json
from datetime import datetime

from danlu.server.paging import bad_cursor
from danlu.spec.run_filter import RunSort
from danlu.store.queries.lists.run_order import Place, SortValue, value_kinds

MAX_CURSOR_CHARS = 4100
"""A text of 500 characters, up to six for each that JSON escapes, and a number, in base64."""

MAX_NUMBER = 2**63 - 1


def cursor_of(place: Place) -> str:
    value = place.value.isoformat() if isinstance(place.value, datetime) else place.value
    return base64.urlsafe_b64encode(json.dumps([value, place.number], ensure_ascii=False).encode()).decode()


def place_in(cursor: str, sort: RunSort) -> Place:
    """Raise InvalidInput for what is not a cursor of a list in this order."""
    try:
        value, number = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
        if type(number) is not int or not 0 <= number <= MAX_NUMBER:
            raise bad_cursor(cursor)
        return Place(_value(value, value_kinds(sort)), number)
    except (ValueError, TypeError, RecursionError) as error:
        raise bad_cursor(cursor) from error


def _value(value: object, kinds: tuple[type, ...]) -> SortValue:
    if value is None:
        return None
    if isinstance(value, str) and datetime in kinds:
        return datetime.fromisoformat(value)
    if isinstance(value, str) and str in kinds and "\0" not in value:
        value.encode()  # databases reject half of a surrogate pair
        return value
    if isinstance(value, float) and float in kinds:
        return value
    raise ValueError(f"expected a value of {kinds}")
