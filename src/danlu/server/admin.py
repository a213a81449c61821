"""Maintenance of a server's stores by `danlu admin`, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from danlu.auth.secrets import Sealer
from danlu.errors import Conflict, InvalidInput
from danlu.scheduler.context import utc_now
from danlu.server.main import only_one, shared_facts
from danlu.server.settings import ServerSettings, load_settings
from danlu.server.stores import cleaning_places, make_inner, make_objects, open_database
from danlu.spec.units import show_size
from danlu.store.queries import facts
from danlu.store.sql.database import Database
from danlu.store.upkeep.backup import (
    BackupReport,
    RestoreReport,
    Stores,
    read_fact,
    read_key,
    restore_backup,
    write_backup,
)
from danlu.store.upkeep.cleaning import find_leftovers
from danlu.store.upkeep.leftovers import Leftover
from danlu.store.upkeep.moving import copy_objects, copy_rows


class Opened(NamedTuple):
    settings: ServerSettings
    database: Database
    stores: Stores


def backup(to: Path, data_dir: Path | None, *, with_key: bool) -> BackupReport:
    with _opened(data_dir) as (settings, database, stores):
        key = settings.server_dir / "secret.key" if with_key else None
        return write_backup(database, stores, to, now=utc_now(), key_file=key)


def restore(source: Path, data_dir: Path | None) -> RestoreReport:
    with _opened(data_dir, alone=True) as (settings, database, stores):
        _bring_key(settings, source)
        return restore_backup(database, stores, source, shared_facts(settings))


def migrate_store(data_dir: Path | None, *, objects_only: bool, said: Callable[[int], None]) -> Iterator[str]:
    """Move from SQLite and a local folder to the stores in the settings; yield a sentence after each step."""
    target = load_settings(data_dir=data_dir)
    if not target.database_url and not target.objects_url:
        raise InvalidInput("set DANLU_SERVER_DATABASE_URL, DANLU_SERVER_OBJECTS_URL or both to where things shall go")
    with _opened(data_dir, alone=not objects_only, database_url="", objects_url="") as (_, old, stores):
        if target.objects_url:
            new = Stores(objects=make_objects(target), inner=make_inner(target))
            done = copy_objects(old, stores, new, said=said)
            yield f"{done.num_copied} objects copied ({show_size(done.num_bytes)}), {done.num_there} were there"
        if objects_only:
            return
        database = open_database(target)
        try:
            if database.is_sqlite:
                old.write(facts.restate, shared_facts(target))
                yield "the database stays; start the server with the same DANLU_SERVER_ variables"
                return
            rows = copy_rows(old, database, facts=shared_facts(target), moved_to=_shown(target.database_url))
            yield f"{sum(rows.values())} rows copied; start the server with the same DANLU_SERVER_ variables"
        finally:
            database.close()


def leftovers(data_dir: Path | None) -> Iterator[Leftover]:
    with _opened(data_dir) as (settings, database, _):
        yield from find_leftovers(cleaning_places(settings, database))


@contextmanager
def _opened(data_dir: Path | None, *, alone: bool = False, **given: str) -> Iterator[Opened]:
    """Open the stores of the server with these settings; `alone`: only while it is not running."""
    settings = load_settings(data_dir=data_dir, **given)
    settings.server_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = open_database(settings)
    try:
        opened = Opened(settings, database, Stores(objects=make_objects(settings), inner=make_inner(settings)))
        if not alone:
            yield opened
            return
        with only_one(settings, is_shared=not database.is_sqlite):
            yield opened
    finally:
        database.close()


def _bring_key(settings: ServerSettings, source: Path) -> None:
    """Install the backup's sealing key; if it has none, the matching key must be in place already."""
    place = settings.server_dir / "secret.key"
    key, wanted = read_key(source), read_fact(source, facts.SEALING_KEY)
    if not place.exists() and key is not None:
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
    if wanted is None or (place.exists() and Sealer(place).fingerprint == wanted):
        return
    told = f"there is no {place}, and no key in the backup"
    if place.exists():
        told = f"{place} is not the key of this backup"
    raise Conflict(f"{told}; put the secret.key of the server that was backed up there")


def _shown(url: str) -> str:
    """A database URL without its password."""
    head, at, tail = url.rpartition("@")
    return f"{head.partition('://')[0]}://...@{tail}" if at else url
