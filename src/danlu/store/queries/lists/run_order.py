"""Sorted lists of runs: numbers, then texts, then runs without the value; the newest first among equals."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, Optional, Union

from sqlalchemy import ColumnElement, Select, and_, exists, null, or_, select
from sqlalchemy.orm import Session, aliased

from danlu.spec.run_filter import RunSort
from danlu.store.queries.runs import RunFilter, conditions
from danlu.store.sql.run_tables import RunRow, RunValueRow
from danlu.store.sql.tables import ProjectRow, UserRow

_Value = aliased(RunValueRow)
"""An alias, because filters use the table too."""

SortValue = Optional[Union[float, str, datetime]]

_NUMBERS: dict[str, Any] = {"step": RunRow.step, "num_points": RunRow.num_points}
_TIMES: dict[str, Any] = {"created": RunRow.created_at, "started": RunRow.started_at, "ended": RunRow.ended_at}
_TEXTS: dict[str, Any] = {
    "name": RunRow.name,
    "state": RunRow.state,
    "folder": RunRow.folder,
    "job": RunRow.job_id,
    "project": select(ProjectRow.name).where(ProjectRow.id == RunRow.project_id).scalar_subquery(),
    "owner": select(UserRow.name).where(UserRow.id == RunRow.owner_id).scalar_subquery(),
}


class Place(NamedTuple):
    """Position of a run in a sorted list."""

    value: SortValue
    """None for runs without the value, which come last."""

    number: int


class PlacedRun(NamedTuple):
    run: RunRow
    place: Place


def value_kinds(sort: RunSort) -> tuple[type, ...]:
    """Types of the sorted values, in list order."""
    if sort.is_value:
        return (float,) if sort.field.startswith("metrics.") else (float, str)
    return (datetime,) if sort.field in _TIMES else (float,) if sort.field in _NUMBERS else (str,)


def list_sorted(
    session: Session, wanted: RunFilter, sort: RunSort, *, after: Place | None, limit: int
) -> list[PlacedRun]:
    """Runs after a place in the list. Raise InvalidInput for an invalid filter."""
    among = conditions(wanted)
    kinds = value_kinds(sort)
    groups: list[type | None] = [*kinds, None]
    if after is not None:
        groups = groups[groups.index(_kind_of(after.value)) :]
    found: list[PlacedRun] = []
    for kind in groups:
        query = _without(sort) if kind is None else _with(sort, kind)
        if after is not None and kind == groups[0]:
            query = query.where(_behind(sort, kind, after))
        for run, value in session.execute(query.where(*among).limit(limit - len(found))):
            found.append(PlacedRun(run, Place(float(value) if kind is float else value, run.number)))
        if len(found) >= limit:
            break
    return found


def _kind_of(value: SortValue) -> type | None:
    return None if value is None else float if isinstance(value, (int, float)) else type(value)


def _column(sort: RunSort, kind: type) -> Any:
    if sort.is_value:
        return _Value.num if kind is float else _Value.text
    return {**_NUMBERS, **_TIMES, **_TEXTS}[sort.field]


def _with(sort: RunSort, kind: type) -> Select[RunRow, Any]:
    column = _column(sort, kind)
    query = select(RunRow, column).where(column.is_not(None))
    if sort.is_value:
        query = query.join(_Value, and_(_Value.run == RunRow.number, _Value.key == sort.field))
        if kind is str:
            query = query.where(_Value.num.is_(None))
    return query.order_by(column.desc() if sort.is_down else column.asc(), RunRow.number.desc())


def _without(sort: RunSort) -> Select[RunRow, Any]:
    query = select(RunRow, null()).order_by(RunRow.number.desc())
    if not sort.is_value:
        return query.where(_column(sort, str).is_(None))
    known = [_column(sort, kind).is_not(None) for kind in value_kinds(sort)]
    has = exists().where(_Value.run == RunRow.number, _Value.key == sort.field, or_(*known))
    return query.where(~has)


def _behind(sort: RunSort, kind: type | None, after: Place) -> ColumnElement[bool]:
    if kind is None:
        return RunRow.number < after.number
    column = _column(sort, kind)
    further: ColumnElement[bool] = column < after.value if sort.is_down else column > after.value
    return or_(further, and_(column == after.value, RunRow.number < after.number))
