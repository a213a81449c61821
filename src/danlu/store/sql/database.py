"""The database: one engine, short transactions, SQLite or PostgreSQL.

Writers are serialized on both: a writer holds a lock from its first statement to its commit, so that nothing it has
read changes before it commits. Readers never wait, and see a consistent snapshot.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from sqlite3 import Connection as SqliteConnection
from typing import Any, TypeVar, cast

from sqlalchemy import URL, CursorResult, Delete, Engine, Update, create_engine, event, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    InterfaceError,
    InternalError,
    NoSuchModuleError,
    OperationalError,
    StatementError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session, sessionmaker

from danlu.errors import InvalidInput, StorageFull, Unavailable

T = TypeVar("T")
BUSY_SECONDS = 20
WRITERS = 0x64616E6C
"""Number of the advisory lock of writers on PostgreSQL, and first part of the numbers of duty locks."""

_POSTGRES_OPTIONS = {
    # a writer that waits longer gets an error, as with SQLite
    "lock_timeout": f"{BUSY_SECONDS}s",
    # a server that hangs or has lost its connection loses its locks
    "idle_in_transaction_session_timeout": "60s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "timezone": "UTC",
}


class Database:
    """Provides sessions. A writer locks at the start, so that it never upgrades a lock."""

    def __init__(self, url: str) -> None:
        self.engine = _make_engine(url)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        # SQLite has one writer at a time. Threads that wait for this lock continue at once when it is free; in SQLite
        # they would sleep with growing intervals
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[object] = threading.Lock() if self.is_sqlite else nullcontext()
        self.on_commit: set[Callable[[], None]] = set()
        """Callbacks after each commit of this process, in the writing thread; they must not block or raise."""

    @contextmanager
    def reading(self) -> Iterator[Session]:
        with _plain_errors(), self._sessions() as session:
            if not self.is_sqlite:
                session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Commit at the end, roll back on any exception."""
        with self._turn, _plain_errors(), self._sessions() as session:
            session.connection(execution_options={"danlu_write": True})
            if not self.is_sqlite:
                session.execute(text(f"SELECT pg_advisory_xact_lock({WRITERS})"))
            yield session
            session.commit()
        for tell in tuple(self.on_commit):
            tell()

    def read(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        with self.reading() as session:
            return function(session, *args, **kwargs)

    def write(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        with self.writing() as session:
            return function(session, *args, **kwargs)

    @contextmanager
    def duty(self, number: int) -> Iterator[bool]:
        """Try to become the only server with this duty; False if another one has it.

        A server that dies releases it at once: the lock belongs to its connection. SQLite has one server only.
        """
        if self.is_sqlite:
            yield True
            return
        with _plain_errors(), self.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            key = f"{WRITERS}, {number}"
            is_mine = bool(connection.scalar(text(f"SELECT pg_try_advisory_lock({key})")))
            try:
                yield is_mine
            finally:
                if is_mine:
                    connection.execute(text(f"SELECT pg_advisory_unlock({key})"))

    def close(self) -> None:
        self.engine.dispose()


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path}"


def num_changed(session: Session, statement: Update | Delete) -> int:
    """Execute a guarded write; return the number of matched rows."""
    return cast("CursorResult[Any]", session.execute(statement)).rowcount


def _make_engine(text: str) -> Engine:
    url = _checked(text)
    if url.get_backend_name() != "sqlite":
        options = " ".join(f"-c {name}={value}" for name, value in _POSTGRES_OPTIONS.items())
        return create_engine(
            url,
            pool_pre_ping=True,
            pool_size=20,
            max_overflow=20,
            connect_args={"options": options, "connect_timeout": 10},
        )
    engine = create_engine(url, pool_size=20, max_overflow=40, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _checked(text: str) -> URL:
    """Parse a database URL; `postgresql://` uses psycopg."""
    right = "expected sqlite:////PATH or postgresql://USER:PASSWORD@HOST/NAME"
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as error:
        # without the value: it may contain a password
        raise InvalidInput(f"database_url: {right}", fields={"database_url": right}) from error
    if backend not in ("sqlite", "postgresql"):
        told = f"{right}, got {backend!r}"
        raise InvalidInput(f"database_url: {told}", fields={"database_url": told})
    return url.set(drivername="postgresql+psycopg") if backend == "postgresql" else url


def _prepare_sqlite(connection: SqliteConnection, _record: object) -> None:
    # `begin` below opens transactions, not the driver
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
    except PoolTimeout as error:
        raise Unavailable("the database is overloaded; try again") from error
    except DataError as error:
        raise InvalidInput(f"the database rejected a value: {_first_line(error.orig)}") from error
    except (OperationalError, InterfaceError, InternalError) as error:
        told = _first_line(error.orig)
        if "disk is full" in told or "No space left" in told:
            raise StorageFull(f"cannot write to the database: {told}; free space on its disk") from error
        raise Unavailable(f"the database is unavailable: {told}; try again") from error
    except (StatementError, OverflowError) as error:  # no column can hold it; PostgreSQL says so with a DataError
        cause = getattr(error, "orig", error)
        if not isinstance(cause, OverflowError):
            raise
        raise InvalidInput(f"the database rejected a value: {_first_line(cause)}") from error


def _first_line(error: object) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
