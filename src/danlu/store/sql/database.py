"""The database: one engine, short transactions, SQLite and PostgreSQL alike.

On both, writers take turns: a writer holds a lock from its first statement to its commit, so that what it has read is
still true when it writes. Readers never wait, and see one moment.
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
from sqlalchemy.exc import ArgumentError, DataError, InterfaceError, InternalError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session, sessionmaker

from danlu.errors import InvalidInput, StorageFull, Unavailable

T = TypeVar("T")
BUSY_SECONDS = 20
WRITERS = 0x64616E6C
"""Number of the lock that PostgreSQL's writers hand on; that of a duty has this before its own."""

_POSTGRES_OPTIONS = {
    # a writer that waits longer is told so, as with SQLite
    "lock_timeout": f"{BUSY_SECONDS}s",
    # a server that hangs, or whose machine is gone, gives its locks back
    "idle_in_transaction_session_timeout": "60s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "timezone": "UTC",
}


class Database:
    """Hands out sessions. A writer takes its lock at the start, so that it never has to upgrade in the middle."""

    def __init__(self, url: str) -> None:
        self.engine = _make_engine(url)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        # SQLite has one writer at a time; threads that queue here are served at once, those that SQLite makes
        # wait sleep in growing steps
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._turn: AbstractContextManager[object] = threading.Lock() if self.is_sqlite else nullcontext()
        self.on_commit: set[Callable[[], None]] = set()
        """Called after each commit of this process, in the thread that wrote; must return at once and not raise."""

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
        """Try to be the only server that does this now; False when another one is at it.

        A server that dies gives it up at once: the lock belongs to its connection. SQLite has one server only.
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
    """Execute a guarded write and say how many rows it found."""
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
    """Read a database URL; people write `postgresql://`, and the driver we bring is psycopg."""
    right = "sqlite:////PATH or postgresql://USER:PASSWORD@HOST/NAME would be right"
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError) as error:
        # not the value: it may hold a password
        raise InvalidInput(
            f"database_url cannot be read; {right}", fields={"database_url": "cannot be read"}
        ) from error
    if backend not in ("sqlite", "postgresql"):
        told = f"{backend!r} is not a database that Danlu knows; {right}"
        raise InvalidInput(f"database_url: {told}", fields={"database_url": told})
    return url.set(drivername="postgresql+psycopg") if backend == "postgresql" else url


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
    except PoolTimeout as error:
        raise Unavailable("too much is asked of the database at the moment; try again") from error
    except DataError as error:
        raise InvalidInput(f"the database does not take a value: {_first_line(error.orig)}") from error
    except (OperationalError, InterfaceError, InternalError) as error:
        told = _first_line(error.orig)
        if "disk is full" in told or "No space left" in told:
            raise StorageFull(f"the database cannot be written: {told}; make room on its disk") from error
        raise Unavailable(f"the database does not answer: {told}; try again") from error


def _first_line(error: object) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
