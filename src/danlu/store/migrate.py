"""Bring a database to the current schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config

from danlu.store.database import Database


def upgrade(database: Database, revision: str = "head") -> None:
    """Apply the missing migrations. Nothing to do when there are none."""
    with database.engine.begin() as connection:
        command.upgrade(_config(connection), revision)


def downgrade(database: Database, revision: str) -> None:
    with database.engine.begin() as connection:
        command.downgrade(_config(connection), revision)


def _config(connection: object) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
