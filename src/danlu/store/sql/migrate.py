"""Bring a database to the current schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import text

from danlu.store.sql.database import WRITERS, Database


def upgrade(database: Database, revision: str = "head") -> None:
    """Apply missing migrations. Idempotent; of several servers that start together, one does it."""
    with database.engine.begin() as connection:
        if not database.is_sqlite:
            # no timeout: another server may be running a long migration
            connection.execute(text("SET LOCAL lock_timeout = 0"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock({WRITERS})"))
        command.upgrade(_config(connection), revision)


def downgrade(database: Database, revision: str) -> None:
    with database.engine.begin() as connection:
        command.downgrade(_config(connection), revision)


def _config(connection: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
