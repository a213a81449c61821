"""Databases for tests: the same test on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from danlu.store.sql import migrate
from danlu.store.sql.database import Database, sqlite_url
from danlu.testing.postgres import Postgres, name_in

KINDS = ("sqlite", "postgresql")


@dataclass
class Databases:
    """Makes databases of one kind. A migrated one is copied from a template: that is quick on both."""

    kind: str
    folder: Path
    postgres: Postgres | None = None
    _made: list[str] = field(default_factory=list)

    def empty(self) -> str:
        """The URL of a new database without tables."""
        if self.postgres is not None:
            self._made.append(self.postgres.make())
            return self._made[-1]
        return sqlite_url(self.folder / f"{len(list(self.folder.iterdir()))}.db")

    def url(self) -> str:
        """The URL of a new database with all tables."""
        if self.postgres is not None:
            self._made.append(self.postgres.make(_template(self.postgres)))
            return self._made[-1]
        file = self.folder / f"{len(list(self.folder.iterdir()))}.db"
        copy_sqlite(file)
        return sqlite_url(file)

    @contextmanager
    def open(self) -> Iterator[Database]:
        database = Database(self.url())
        try:
            yield database
        finally:
            database.close()

    def drop(self) -> None:
        for url in self._made:
            assert self.postgres is not None
            self.postgres.drop(url)


_templates: dict[Postgres, str] = {}


def _template(postgres: Postgres) -> str:
    if postgres not in _templates:
        url = postgres.make()
        _migrate(url)
        _templates[postgres] = name_in(url)
    return _templates[postgres]


def copy_sqlite(file: Path) -> None:
    """Make a SQLite database with all tables."""
    file.write_bytes(_sqlite_template())


@cache
def _sqlite_template() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder, "template.db")
        _migrate(sqlite_url(file))
        return file.read_bytes()


def _migrate(url: str) -> None:
    database = Database(url)
    migrate.upgrade(database)
    database.close()
