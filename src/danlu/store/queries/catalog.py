"""Flavors and frameworks in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from danlu.spec.flavors import Flavor
from danlu.spec.frameworks import Framework
from danlu.store.sql.catalog_tables import FlavorRow, FrameworkRow
from danlu.store.sql.tables import Base

T = TypeVar("T", Flavor, Framework)
_TABLES: dict[type[Flavor] | type[Framework], type[FlavorRow] | type[FrameworkRow]] = {
    Flavor: FlavorRow,
    Framework: FrameworkRow,
}


def listed(session: Session, of: type[T], *, after: str = "", limit: int | None = None) -> list[T]:
    """Flavors or frameworks by name, after the given one."""
    table = _TABLES[of]
    query = select(table).where(table.name > after).order_by(table.name).limit(limit)
    return [_read(of, row) for row in session.scalars(query)]


def get(session: Session, of: type[T], name: str) -> T | None:
    row = session.get(_TABLES[of], name)
    return None if row is None else _read(of, row)


def has(session: Session, thing: Flavor | Framework) -> bool:
    """Whether one of this name exists."""
    return session.get(_TABLES[type(thing)], thing.name) is not None


def names(session: Session, of: type[Flavor] | type[Framework]) -> Sequence[str]:
    """Names of the enabled ones."""
    table = _TABLES[of]
    return session.scalars(select(table.name).where(table.is_enabled)).all()


def put(session: Session, thing: Flavor | Framework, at: datetime) -> None:
    """Insert or replace by name."""
    table, values = _TABLES[type(thing)], thing.model_dump(mode="json")
    row = session.get(table, thing.name)
    if row is None:
        session.add(table(**values, created_at=at))
    else:
        for name, value in values.items():
            setattr(row, name, value)
    session.flush()


def delete(session: Session, thing: Flavor | Framework) -> None:
    row = session.get(_TABLES[type(thing)], thing.name)
    if row is not None:
        session.delete(row)
        session.flush()


def _read(of: type[T], row: Base) -> T:
    return of.model_validate({name: getattr(row, name) for name in of.model_fields})
