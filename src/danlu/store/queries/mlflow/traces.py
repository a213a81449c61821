"""Traces of MLflow's clients in SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, exists, func, not_, select
from sqlalchemy.orm import Session

from danlu.errors import InvalidInput
from danlu.store.queries.mlflow.filter import Comparison, Order
from danlu.store.queries.mlflow.search import SIGNS, compared
from danlu.store.sql.mlflow_trace_tables import TraceRow, TraceTextRow

TAG, METADATA = "tag", "metadata"
_BATCH = 500
_NUMBERS = {"timestamp_ms": TraceRow.began_ms, "execution_time_ms": TraceRow.took_ms}
_TEXTS = {"request_id": TraceRow.id, "trace_id": TraceRow.id, "status": TraceRow.status}
_ELSEWHERE = {"name": (TAG, "mlflow.traceName"), "run_id": (METADATA, "mlflow.sourceRun")}
"""Attributes that clients send as a tag or as metadata."""

_ATTRIBUTES = (*_NUMBERS, *_TEXTS, *_ELSEWHERE)


def trace(session: Session, project_id: int, trace_id: str) -> TraceRow | None:
    return session.scalar(select(TraceRow).where(TraceRow.project_id == project_id, TraceRow.id == trace_id))


def add(session: Session, row: TraceRow) -> None:
    session.add(row)
    session.flush()


def texts_of(session: Session, traces: Sequence[int], kind: str) -> dict[int, dict[str, str]]:
    """Trace -> its tags or metadata."""
    found: dict[int, dict[str, str]] = {one: {} for one in traces}
    for first in range(0, len(traces), _BATCH):
        some = TraceTextRow.trace.in_(traces[first : first + _BATCH])
        query = select(TraceTextRow).where(some, TraceTextRow.kind == kind).order_by(TraceTextRow.key)
        for row in session.scalars(query):
            found[row.trace][row.key] = row.value
    return found


def num_chars(session: Session, traces: Sequence[int]) -> dict[int, int]:
    """Trace -> total length of its tags and metadata."""
    found = dict.fromkeys(traces, 0)
    size = func.sum(func.length(TraceTextRow.value) + func.length(TraceTextRow.key))
    for first in range(0, len(traces), _BATCH):
        query = select(TraceTextRow.trace, size).where(TraceTextRow.trace.in_(traces[first : first + _BATCH]))
        found.update((one, int(total)) for one, total in session.execute(query.group_by(TraceTextRow.trace)))
    return found


def put_texts(session: Session, trace: int, *, kind: str, values: Mapping[str, str]) -> None:
    for key, value in values.items():
        row = session.get(TraceTextRow, (trace, kind, key))
        if row is None:
            session.add(TraceTextRow(trace=trace, kind=kind, key=key, value=value))
        else:
            row.value = value
    session.flush()


def delete_tag(session: Session, trace: int, key: str) -> bool:
    """Delete a tag; False if there is none."""
    row = session.get(TraceTextRow, (trace, TAG, key))
    if row is not None:
        session.delete(row)
        session.flush()
    return row is not None


def until(session: Session, experiment: int, moment_ms: int, *, of_job: str | None, limit: int) -> Sequence[TraceRow]:
    """Traces of an experiment that began at this time or before, oldest first."""
    query = _of_job(select(TraceRow).where(TraceRow.experiment == experiment, TraceRow.began_ms <= moment_ms), of_job)
    return session.scalars(query.order_by(TraceRow.began_ms, TraceRow.number).limit(limit)).all()


def named(session: Session, experiment: int, ids: Sequence[str], *, of_job: str | None) -> Sequence[TraceRow]:
    """Traces of an experiment by their ids; those that do not exist are left out."""
    found: list[TraceRow] = []
    for first in range(0, len(ids), _BATCH):
        some = TraceRow.id.in_(ids[first : first + _BATCH])
        found += session.scalars(_of_job(select(TraceRow).where(TraceRow.experiment == experiment, some), of_job))
    return found


def _of_job(query: Select[TraceRow], job_id: str | None) -> Select[TraceRow]:
    return query if job_id is None else query.where(TraceRow.job_id == job_id)


def delete_traces(session: Session, numbers: Sequence[int]) -> int:
    """Return how many were there."""
    num_deleted = 0
    for first in range(0, len(numbers), _BATCH):
        some = numbers[first : first + _BATCH]
        session.execute(delete(TraceTextRow).where(TraceTextRow.trace.in_(some)))
        gone = session.execute(delete(TraceRow).where(TraceRow.number.in_(some)).returning(TraceRow.number))
        num_deleted += len(gone.all())
    return num_deleted


class TraceSearch:
    """Traces in some experiments that pass all tests."""

    def __init__(self, session: Session, experiments: Sequence[int]) -> None:
        self._session = session
        self._is_sqlite = session.get_bind().dialect.name == "sqlite"
        self._query = select(TraceRow).where(TraceRow.experiment.in_(experiments))

    def only_of_job(self, job_id: str | None) -> None:
        """None: all traces."""
        self._query = _of_job(self._query, job_id)

    def where(self, tests: Sequence[Comparison]) -> None:
        for test in tests:
            self._query = self._query.where(self._condition(test))

    def page(self, orders: Sequence[Order], *, offset: int, limit: int) -> Sequence[TraceRow]:
        """Newest first after the orders."""
        columns: list[ColumnElement[Any]] = []
        for order in orders:
            value = _value(order)
            columns += [value.is_(None), value.asc() if order.is_ascending else value.desc()]
        ordered = self._query.order_by(*columns, TraceRow.began_ms.desc(), TraceRow.number.desc())
        return self._session.scalars(ordered.offset(offset).limit(limit)).all()

    def _condition(self, test: Comparison) -> ColumnElement[bool]:
        kind, key = _place(test.kind, test.key)
        if kind in (TAG, METADATA):
            here = and_(TraceTextRow.trace == TraceRow.number, TraceTextRow.kind == kind, TraceTextRow.key == key)
            if test.sign in ("IS NULL", "IS NOT NULL"):
                return exists().where(here) if test.sign == "IS NOT NULL" else not_(exists().where(here))
            return exists().where(here, compared(TraceTextRow.value, test, is_sqlite=self._is_sqlite))
        if key in _NUMBERS:
            return SIGNS[test.sign](_NUMBERS[key], test.value)
        return compared(_TEXTS[key], test, is_sqlite=self._is_sqlite)


def _value(order: Order) -> Any:
    kind, key = _place(order.kind, order.key)
    if kind in (TAG, METADATA):
        here = and_(TraceTextRow.trace == TraceRow.number, TraceTextRow.kind == kind, TraceTextRow.key == key)
        return select(TraceTextRow.value).where(here).scalar_subquery()
    columns: dict[str, Any] = {**_NUMBERS, **_TEXTS}
    return columns[key].expression


def _place(kind: str, key: str) -> tuple[str, str]:
    """Where the field of a test or an order is stored."""
    if kind in (TAG, METADATA):
        return kind, key
    if kind != "attribute" or key not in _ATTRIBUTES:
        raise InvalidInput(f"expected a tag, metadata, or one of {', '.join(_ATTRIBUTES)}, got {key!r}")
    return _ELSEWHERE.get(key, (kind, key))
