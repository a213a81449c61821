"""The database: one engine, short transactions, SQLite and PostgreSQL alike."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from typing import Any, TypeVar, cast

from sqlalchemy import CursorResult, Delete, Engine, Update, create_engine, event
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, sessionmaker

from danlu.errors import StorageFull, Unavailable

T = TypeVar("T")
BUSY_SECONDS = 20


class Database:
    """Hands out sessions. A writer takes its lock at the start, so that it never has to upgrade in the middle."""

    def __init__(self, url: str) -> None:
        self.engine = _make_engine(url)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        # SQLite has one writer at a time; threads that queue here are served at once, those that SQLite makes
        # wait sleep in growing steps
        is_sqlite = self.engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[object] = threading.Lock() if is_sqlite else nullcontext()

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with _plain_errors(), self._sessions() as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Commit at the end, roll back on any exception."""
        with self._turn, _plain_errors(), self._sessions() as session:
            session.connection(execution_options={"danlu_write": True})
            yield session
            session.commit()

    def read(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        with self.reading() as session:
            return function(session, *args, **kwargs)

    def write(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        with self.writing() as session:
            return function(session, *args, **kwargs)

    def close(self) -> None:
        self.engine.dispose()


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path}"


def num_changed(session: Session, statement: Update | Delete) -> int:
    """Execute a guarded write and say how many rows it found."""
    return cast("CursorResult[Any]", session.execute(statement)).rowcount


def _make_engine(url: str) -> Engine:
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, pool_size=20, max_overflow=20)
    engine = create_engine(url, pool_size=20, max_overflow=40, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: SqliteConnection, _record: object) -> None:
    # the driver must not open transactions by itself: `begin` below does
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    is_write = connection.get_execution_options().get("danlu_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_write else "BEGIN")


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        text = str(error.orig)
        if "disk is full" in text or "No space left" in text:
            raise StorageFull(f"the database cannot be written: {text}; make room on its disk") from error
        raise Unavailable(f"the database does not answer: {text}; try again") from error
