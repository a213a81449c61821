"""Translate run filters to SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import ColumnElement, String, and_, cast, exists, false, func, not_, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from danlu.spec.run_filter import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Not,
    Value,
    odd_number,
    parse_filter,
    wrong_filter,
)
from danlu.store.sql.run_tables import RunRow, RunValueRow
from danlu.store.sql.tables import UserRow

_TEXTS: dict[str, InstrumentedAttribute[Any]] = {
    "name": RunRow.name,
    "id": RunRow.id,
    "state": RunRow.state,
    "folder": RunRow.folder,
    "job": RunRow.job_id,
    "description": RunRow.description,
    "group": RunRow.group,
    "parent": RunRow.parent,
}
_NUMBERS: dict[str, InstrumentedAttribute[Any]] = {
    "attempt": RunRow.attempt,
    "step": RunRow.step,
    "epoch": RunRow.epoch,
}
_TIMES: dict[str, InstrumentedAttribute[Any]] = {
    "created": RunRow.created_at,
    "started": RunRow.started_at,
    "ended": RunRow.ended_at,
}
_SIGNS: dict[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "=": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
    "~": lambda column, value: column.contains(value, autoescape=True),
}


def compile_filter(text: str) -> ColumnElement[bool]:
    """A condition on runs. Raise InvalidInput with the position of an invalid filter."""
    return _compile(parse_filter(text), text)


def _compile(part: Condition, text: str) -> ColumnElement[bool]:
    if isinstance(part, AllOf):
        return and_(*(_compile(inner, text) for inner in part.parts))
    if isinstance(part, AnyOf):
        return or_(*(_compile(inner, text) for inner in part.parts))
    if isinstance(part, Not):
        # a run without the value does not match
        return not_(func.coalesce(_compile(part.part, text), false()))
    return _comparison(part, text)


def _comparison(part: Comparison, text: str) -> ColumnElement[bool]:
    if part.field in _TEXTS:
        return _compare(_TEXTS[part.field], part, [_word(value) for value in part.values])
    if part.field in _NUMBERS:
        return _compare(_NUMBERS[part.field], part, [_number(value, part, text) for value in part.values])
    if part.field in _TIMES:
        return _compare(_TIMES[part.field], part, [_time(value, part, text) for value in part.values])
    if part.field == "owner":
        named = _compare(UserRow.name, part, [_word(value) for value in part.values])
        return RunRow.owner_id.in_(select(UserRow.id).where(named))
    if part.field == "label":
        return _label(part, text)
    return _value(part, text)


def _value(part: Comparison, text: str) -> ColumnElement[bool]:
    """A metric, hyperparameter or summary value, compared as number or text."""
    number = {"last": RunValueRow.num, "min": RunValueRow.low, "max": RunValueRow.high}[part.of]
    tests = []
    for value in part.values:
        sign = "=" if part.sign == "in" else part.sign
        odd = odd_number(value) if part.field.startswith("metrics.") else None
        if odd is not None:
            tests.append(_odd(odd, part, text))
        elif isinstance(value, bool):
            tests.append(_SIGNS[sign](RunValueRow.text, str(value).lower()))
        elif isinstance(value, float):
            tests.append(_SIGNS[sign](number, value))
            if sign == "!=" and part.of == "last" and part.field.startswith("metrics."):
                tests.append(RunValueRow.text == "nan")
        else:
            tests.append(_SIGNS[sign](RunValueRow.text, value))
    return exists().where(RunValueRow.run == RunRow.number, RunValueRow.key == part.field, or_(*tests))


def _odd(value: float, part: Comparison, text: str) -> ColumnElement[bool]:
    """A metric compared with NaN, which is equal to NaN here, or with infinity."""
    sign = "=" if part.sign == "in" else part.sign
    if math.isinf(value) and sign != "~":
        number = {"last": RunValueRow.num, "min": RunValueRow.low, "max": RunValueRow.high}[part.of]
        found = _SIGNS[sign](number, value)
        return or_(found, RunValueRow.text == "nan") if sign == "!=" and part.of == "last" else found
    if sign not in ("=", "!=") or part.of != "last":
        raise wrong_filter(text, part.at, "the last value of a metric is compared with nan by = != or in")
    is_nan = func.coalesce(RunValueRow.text == "nan", false())
    return is_nan if sign == "=" else not_(is_nan)


def _label(part: Comparison, text: str) -> ColumnElement[bool]:
    if part.sign not in ("=", "!=", "in", "~"):
        raise wrong_filter(text, part.at, "a label is compared with = != ~ or in")
    # labels are a JSON list; comparing JSON texts needs no extra table
    labels = cast(RunRow.labels, String)
    found = or_(
        *(labels.contains(_json_text(_word(value), whole=part.sign != "~"), autoescape=True) for value in part.values)
    )
    return not_(found) if part.sign == "!=" else found


def _json_text(word: str, *, whole: bool) -> str:
    import json

    text = json.dumps(word)
    return text if whole else text[1:-1]


def _compare(column: Any, part: Comparison, values: Sequence[Any]) -> ColumnElement[bool]:
    if part.sign == "in":
        return or_(*(column == value for value in values))
    return _SIGNS[part.sign](column, values[0])


def _word(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return value


def _number(value: Value, part: Comparison, text: str) -> float:
    if isinstance(value, bool) or not isinstance(value, float) or part.sign == "~":
        raise wrong_filter(text, part.at, f"{part.field} is a number, and {_word(value)!r} is none")
    return value


def _time(value: Value, part: Comparison, text: str) -> datetime:
    try:
        if not isinstance(value, str) or part.sign == "~":
            raise ValueError
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise wrong_filter(
            text, part.at, f"{part.field}: expected a time such as '2026-01-31' or '2026-01-31T12:00:00'"
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
