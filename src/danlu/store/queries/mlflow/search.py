"""Translate searches of MLflow's clients to SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, false, func, not_, or_, select, true
from sqlalchemy.orm import Session

from danlu.errors import InvalidInput
from danlu.store.queries.mlflow.filter import Comparison, Order
from danlu.store.queries.mlflow.patterns import ESCAPE, to_glob, to_like
from danlu.store.queries.mlflow.records import PARAM, TAG
from danlu.store.sql.mlflow_tables import RunTextRow
from danlu.store.sql.run_tables import RunRow, RunValueRow
from danlu.store.sql.tables import UserRow

SIGNS: dict[str, Callable[[Any, Any], ColumnElement[bool]]] = {
    "=": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
}
_TIMES = {"start_time": RunRow.started_at, "end_time": RunRow.ended_at}


class RunSearch:
    """Runs of one project, in some folders, that pass all tests."""

    def __init__(self, session: Session, project_id: int, folders: Sequence[str]) -> None:
        self._session = session
        self._is_sqlite = session.get_bind().dialect.name == "sqlite"
        self._query = select(RunRow).where(RunRow.project_id == project_id, RunRow.folder.in_(folders))

    def only(self, *, is_deleted: bool | None) -> None:
        """Limit to runs in the trash, or to others; None: both."""
        if is_deleted is not None:
            is_there = RunRow.deleted_at.is_(None)
            self._query = self._query.where(not_(is_there) if is_deleted else is_there)

    def only_of_job(self, job_id: str) -> None:
        self._query = self._query.where(RunRow.job_id == job_id)

    def where(self, tests: Sequence[Comparison], states: Callable[[str], Sequence[str]]) -> None:
        """Add tests. `states` maps a status of MLflow to states of runs."""
        for test in tests:
            self._query = self._query.where(self._condition(test, states))

    def page(self, orders: Sequence[Order], *, offset: int, limit: int) -> Sequence[RunRow]:
        columns: list[ColumnElement[Any]] = []
        for order in orders:
            value = self._value(order)
            columns += [value.is_(None), value.asc() if order.is_ascending else value.desc()]
        ordered = self._query.order_by(*columns, RunRow.started_at.desc(), RunRow.id)
        return self._session.scalars(ordered.offset(offset).limit(limit)).all()

    def _condition(self, test: Comparison, states: Callable[[str], Sequence[str]]) -> ColumnElement[bool]:
        if test.kind == "metric":
            return exists().where(
                RunValueRow.run == RunRow.number,
                RunValueRow.key == metric_value_key(test.key),
                _metric(test),
            )
        if test.kind in (TAG, PARAM):
            return self._text(test)
        if test.kind != "attribute":
            raise InvalidInput(f"runs have no {test.kind}; expected metrics, params, tags or attributes")
        if test.key == "status":
            return _status(test, states)
        if test.key in _TIMES:
            assert isinstance(test.value, float)
            return SIGNS[test.sign](_TIMES[test.key], _moment(test.value))
        if test.key == "user_id":
            named = select(UserRow.id).where(self._compared(UserRow.name, test))
            return RunRow.owner_id.in_(named)
        columns = {"run_id": RunRow.id, "run_uuid": RunRow.id, "run_name": RunRow.name}
        if test.key not in columns:
            raise InvalidInput(
                f"expected one of run_id, run_name, status, user_id, start_time, end_time, got {test.key!r}"
            )
        return self._compared(columns[test.key], test)

    def _text(self, test: Comparison) -> ColumnElement[bool]:
        if test.kind == TAG and test.key == "mlflow.runName":
            return self._compared(RunRow.name, test)
        if test.kind == TAG and test.key == "mlflow.parentRunId":
            return self._parent(test)
        here = and_(RunTextRow.run == RunRow.number, RunTextRow.kind == test.kind, RunTextRow.key == test.key)
        if test.sign in ("IS NULL", "IS NOT NULL"):
            return exists().where(here) if test.sign == "IS NOT NULL" else not_(exists().where(here))
        found = exists().where(here, self._compared(RunTextRow.value, test))
        if test.kind == TAG:
            return found
        value_here = and_(RunValueRow.run == RunRow.number, RunValueRow.key == f"hparams.{test.key}")
        # runs of other clients have hyperparameters instead of parameters
        return or_(found, and_(not_(exists().where(here)), exists().where(value_here, self._hparam(test))))

    def _parent(self, test: Comparison) -> ColumnElement[bool]:
        """A test of the parent. Nested runs of Danlu's own client have a column instead of the tag."""
        here = and_(RunTextRow.run == RunRow.number, RunTextRow.kind == TAG, RunTextRow.key == test.key)
        parent = func.coalesce(RunRow.parent, _scalar(select(RunTextRow.value).where(here)))
        if test.sign in ("IS NULL", "IS NOT NULL"):
            return parent.is_(None) if test.sign == "IS NULL" else parent.is_not(None)
        return self._compared(parent, test)

    def _hparam(self, test: Comparison) -> ColumnElement[bool]:
        try:
            number = float(test.value) if isinstance(test.value, str) else None
        except ValueError:
            number = None
        if number is not None and test.sign in ("=", "!="):
            return SIGNS[test.sign](RunValueRow.num, number)
        return self._compared(RunValueRow.text, test)

    def _compared(self, column: Any, test: Comparison) -> ColumnElement[bool]:
        return compared(column, test, is_sqlite=self._is_sqlite)

    def _value(self, order: Order) -> ColumnElement[Any]:
        if order.kind == "metric":
            key = metric_value_key(order.key)
            return _scalar(select(RunValueRow.num).where(RunValueRow.run == RunRow.number, RunValueRow.key == key))
        if order.kind == TAG and order.key == "mlflow.runName":
            return RunRow.name.expression
        if order.kind in (TAG, PARAM):
            query = select(RunTextRow.value).where(
                RunTextRow.run == RunRow.number, RunTextRow.kind == order.kind, RunTextRow.key == order.key
            )
            return _scalar(query)
        columns: dict[str, Any] = {
            "start_time": RunRow.started_at,
            "end_time": RunRow.ended_at,
            "status": RunRow.state,
            "run_id": RunRow.id,
            "run_name": RunRow.name,
        }
        if order.key not in columns:
            raise InvalidInput(f"order_by: expected one of {', '.join(columns)}, got {order.key!r}")
        return _bool(columns[order.key].expression)


def compared(column: Any, test: Comparison, *, is_sqlite: bool) -> ColumnElement[bool]:
    """A test of a column of texts."""
    value = test.value
    if test.sign == "IN" and isinstance(value, tuple):
        return or_(false(), *(column == one for one in value))
    if test.sign == "NOT IN" and isinstance(value, tuple):
        return and_(true(), *(column != one for one in value))
    if test.sign == "ILIKE":
        return func.lower(column).like(to_like(str(value).lower()), escape=ESCAPE)
    if test.sign == "LIKE":
        if not is_sqlite:
            return _bool(column.like(to_like(str(value)), escape=ESCAPE))
        return _bool(column.op("GLOB")(to_glob(str(value))))  # LIKE of SQLite ignores case
    if test.sign in SIGNS:
        return SIGNS[test.sign](column, value)
    raise InvalidInput(f"{test.key} is not compared with {test.sign}")


def metric_value_key(key: str) -> str:
    """Key of a metric in the table of searchable values: `val/acc` is metric `acc` of type `val`."""
    type_, slash, name = key.partition("/")
    return f"metrics.{type_}.{name}" if slash and type_ and name and len(type_) <= 60 else f"metrics.{key}"


def _metric(test: Comparison) -> ColumnElement[bool]:
    """A test of a metric. NaN equals NaN, and is neither less nor greater than any value."""
    assert isinstance(test.value, float)
    is_nan = func.coalesce(RunValueRow.text == "nan", false())
    if math.isnan(test.value):
        return {"=": is_nan, "!=": not_(is_nan)}.get(test.sign, false())
    found = SIGNS[test.sign](RunValueRow.num, test.value)
    return or_(found, is_nan) if test.sign == "!=" else found


def _status(test: Comparison, states: Callable[[str], Sequence[str]]) -> ColumnElement[bool]:
    given = test.value if isinstance(test.value, tuple) else (str(test.value),)
    named = [state for one in given for state in states(one)]
    if test.sign in ("=", "IN"):
        return RunRow.state.in_(named)
    if test.sign in ("!=", "NOT IN"):
        return RunRow.state.not_in(named)
    raise InvalidInput(f"status is compared with = != IN, not {test.sign}")


def _moment(milliseconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    except (OverflowError, ValueError, OSError) as error:
        raise InvalidInput(f"expected milliseconds since 1970, got {milliseconds:g}") from error


def _scalar(query: Any) -> ColumnElement[Any]:
    found: ColumnElement[Any] = query.scalar_subquery()
    return found


def _bool(found: Any) -> ColumnElement[Any]:
    assert isinstance(found, ColumnElement)
    return found
