"""Values that all servers on one database must share. The first server stores them, the others are checked."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from danlu.errors import Conflict
from danlu.store.sql.tables import FactRow

DATA_FOLDER, SEALING_KEY, OBJECTS = "data_folder", "sealing_key", "objects"
MOVED = "moved"
"""Set in the source of a migration, so that no server starts on this database."""

_TOLD = {
    DATA_FOLDER: "servers on one database share one data folder, with its logs and the folders of running jobs",
    SEALING_KEY: "copy server/secret.key from the data folder of the first server: job secrets are sealed with it",
    OBJECTS: "give every server the same objects_url and s3_endpoint; `danlu admin migrate-store` moves objects",
}


def agree(session: Session, mine: Mapping[str, str]) -> None:
    """Store facts that are unknown; raise Conflict for those that differ."""
    known = {row.name: row for row in session.scalars(select(FactRow))}
    if MOVED in known:
        raise Conflict(f"this database was moved to {known[MOVED].value}; set DANLU_SERVER_DATABASE_URL to it")
    for name, value in mine.items():
        if name not in known:
            session.add(FactRow(name=name, value=value))
        elif known[name].value != value:
            raise Conflict(
                f"this server does not fit its database: {name.replace('_', ' ')} is {value!r}, "
                f"and {known[name].value!r} there; {_TOLD.get(name, 'they must be the same')}"
            )


def restate(session: Session, mine: Mapping[str, str]) -> None:
    """Replace facts."""
    for name, value in mine.items():
        session.merge(FactRow(name=name, value=value))
