"""Export and import of all rows, for backups and for migration from SQLite to PostgreSQL.

Rows are read in one transaction, so they are consistent while servers run. They are imported at their schema revision;
newer migrations are applied afterwards.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Column, LargeBinary, Table, bindparam, func, inspect, select, text
from sqlalchemy.orm import Session

from danlu.errors import Conflict, InvalidInput
from danlu.store.sql.database import Database
from danlu.store.sql.schema import METADATA
from danlu.store.sql.tables import UtcDateTime

BATCH = 500
VERSION_TABLE = "alembic_version"


class TableDump(NamedTuple):
    name: str
    columns: Sequence[str]
    rows: Iterator[list[Any]]
    """JSON values, in the order of the columns."""


def revision(session: Session) -> str:
    return str(session.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one())


def dump(session: Session) -> Iterator[TableDump]:
    """All tables, referenced ones first. Read the rows of each before the next table."""
    there = set(inspect(session.connection()).get_table_names()) - {VERSION_TABLE}
    unknown = sorted(there - set(METADATA.tables))
    if unknown:  # a backup must not silently omit rows
        raise InvalidInput(f"this version of Danlu does not know the table {unknown[0]!r}; use a newer version")
    for table in METADATA.sorted_tables:
        yield TableDump(table.name, [column.name for column in table.columns], _rows(session, table))


def load(session: Session, tables: Iterable[TableDump]) -> dict[str, int]:
    """Insert rows into empty tables; return the number for each."""
    counts = {}
    for found in tables:
        table = METADATA.tables.get(found.name)
        if table is None:
            raise InvalidInput(f"this version of Danlu has no table {found.name!r}; use the version that wrote it")
        counts[found.name] = _insert(session, table, found)
        _reset_sequence(session, table)
    return counts


def check_empty(database: Database) -> None:
    """Raise Conflict if any table has rows."""
    known = set(inspect(database.engine).get_table_names())
    with database.reading() as session:
        for table in METADATA.sorted_tables:
            if table.name in known and session.scalar(select(func.count()).select_from(table)):
                raise Conflict(f"expected an empty database, got one with rows in {table.name!r}")


def _rows(session: Session, table: Table) -> Iterator[list[Any]]:
    columns = list(table.columns)
    query = select(*columns).order_by(*table.primary_key.columns).execution_options(yield_per=BATCH)
    for row in session.execute(query):
        yield [_out(value) for value in row]


def _out(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def _in(column: Column[Any], value: Any) -> Any:
    if value is None:
        return None
    if isinstance(column.type, UtcDateTime):
        return datetime.fromisoformat(value)
    if isinstance(column.type, LargeBinary):
        return base64.b64decode(value)
    return value


def _insert(session: Session, table: Table, found: TableDump) -> int:
    unknown = [name for name in found.columns if name not in table.columns]
    if unknown:
        raise InvalidInput(f"{table.name} has no column {unknown[0]!r} in this version of Danlu; use a newer version")
    columns = [table.columns[name] for name in found.columns]
    # name the columns, so that newer ones get their defaults
    names = ", ".join(f'"{column.name}"' for column in columns)
    marks = ", ".join(f":{column.name}" for column in columns)
    statement = text(f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})').bindparams(
        *(bindparam(column.name, type_=column.type) for column in columns)
    )
    count = 0
    for batch in _batches(found.rows):
        values = [
            {column.name: _in(column, value) for column, value in zip(columns, row, strict=True)} for row in batch
        ]
        session.execute(statement, values)
        count += len(values)
    return count


def _batches(rows: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    batch: list[list[Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _reset_sequence(session: Session, table: Table) -> None:
    """Continue id sequences after the imported ids."""
    column = table.autoincrement_column
    if column is None or session.get_bind().dialect.name != "postgresql":
        return  # SQLite continues after the largest id by itself
    place = {"table": table.name, "column": column.name}
    if session.execute(text("SELECT pg_get_serial_sequence(:table, :column)"), place).scalar() is None:
        return
    session.execute(
        text(
            f"SELECT setval(pg_get_serial_sequence(:table, :column), "
            f'COALESCE((SELECT MAX("{column.name}") FROM "{table.name}"), 0) + 1, false)'
        ),
        place,
    )


def to_line(row: Sequence[Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
