"""`danlu admin backup|restore|migrate-store|clean`: work on the stores of a server, on its machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson

if TYPE_CHECKING:
    from datetime import datetime

    from danlu.server.settings import ServerSettings
    from danlu.store.backup import Stores
    from danlu.store.database import Database

app = typer.Typer(name="admin", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
DataDir = typer.Option(None, help="The data folder of the server.", show_default="DANLU_SERVER_DATA_DIR, else ~/.danlu")


@app.callback()
def _admin() -> None:
    """Back up, restore, move and clean the stores of a server.

    These commands read the same DANLU_SERVER_... variables as `danlu up`, and run where the data folder is.
    """


@app.command(context_settings=CONTEXT)
def backup(
    to: Path = typer.Argument(..., metavar="FILE", help="The backup to write, such as danlu.zip."),
    with_key: bool = typer.Option(False, "--with-key", help="Put the sealing key in: the file then opens job secrets."),
    data_dir: Optional[Path] = DataDir,
) -> None:
    """Write all rows of the database, and a list of all objects, into one file. Servers may go on meanwhile.

    Objects and logs are not in it; copy them after it with the means of their store. Without --with-key, keep
    server/secret.key of the data folder somewhere safe: job secrets cannot be opened without it.

    \b
    Examples:
      danlu admin backup danlu.zip
      DANLU_SERVER_DATABASE_URL=postgresql://danlu@db/danlu danlu admin backup --with-key /backups/danlu.zip
    """
    from danlu.spec.units import show_size
    from danlu.store.backup import write_backup

    with _opened(data_dir) as (settings, database, stores):
        key = settings.server_dir / "secret.key" if with_key else None
        done = write_backup(database, stores, to, now=_now(), key_file=key)
    rows = sum(done.num_rows.values())
    print(f"{to}: {rows} rows, a list of {done.num_objects} objects ({show_size(done.num_bytes)})")


@app.command(context_settings=CONTEXT)
def restore(
    source: Path = typer.Argument(..., metavar="FILE", help="A file that `danlu admin backup` wrote."),
    data_dir: Optional[Path] = DataDir,
) -> None:
    """Fill an empty database from a backup, and look whether its objects are there.

    No server may run on the data folder. The sealing key is taken from the backup if it is in it; otherwise put
    secret.key into the folder server/ of the data folder first. Ends with 1 when objects are missing.

    \b
    Examples:
      danlu admin restore danlu.zip --data-dir /srv/danlu
    """
    from danlu.store.backup import restore_backup

    with _opened(data_dir, alone=True) as (settings, database, stores):
        _bring_key(settings, source)
        done = restore_backup(database, stores, source, _facts(settings))
    print(
        f"{sum(done.num_rows.values())} rows are back; {done.num_objects - len(done.missing)} of "
        f"{done.num_objects} objects are there"
    )
    for name in done.missing[:10]:
        print(f"danlu: missing: {name}", file=sys.stderr)
    if done.missing:
        print(f"danlu: {len(done.missing)} objects are missing; copy them into the store", file=sys.stderr)
        raise typer.Exit(1)


@app.command("migrate-store", context_settings=CONTEXT)
def migrate_store(
    objects_only: bool = typer.Option(
        False, "--objects-only", help="Copy objects and nothing else; the server may run. Shortens the real move."
    ),
    data_dir: Optional[Path] = DataDir,
) -> None:
    """Move everything from SQLite and a folder to where DANLU_SERVER_DATABASE_URL and DANLU_SERVER_OBJECTS_URL say.

    Stop the server first, and start it with the same variables after. What was copied is checked by its SHA-256;
    broken off, the same command goes on. The folder and the SQLite file stay, and no server starts on them again.

    \b
    Examples:
      danlu admin migrate-store --objects-only    while the server runs
      danlu admin migrate-store                   when it is stopped
    """
    from danlu.errors import InvalidInput
    from danlu.server.settings import load_settings
    from danlu.server.stores import make_inner, make_objects, open_database
    from danlu.spec.units import show_size
    from danlu.store.backup import Stores
    from danlu.store.moving import copy_objects, copy_rows

    target = load_settings(data_dir=data_dir)
    if not target.database_url and not target.objects_url:
        raise InvalidInput("set DANLU_SERVER_DATABASE_URL, DANLU_SERVER_OBJECTS_URL or both to where things shall go")
    with _opened(data_dir, alone=not objects_only, database_url="", objects_url="") as (_, old, stores):
        if target.objects_url:
            new = Stores(objects=make_objects(target), inner=make_inner(target))
            copied = copy_objects(old, stores, new, said=_count("objects"))
            print(f"{copied.num_copied} objects copied ({show_size(copied.num_bytes)}), {copied.num_there} were there")
        if objects_only:
            return
        database = open_database(target)
        try:
            if not database.is_sqlite:
                rows = copy_rows(old, database, facts=_facts(target), moved_to=_shown(target.database_url))
                print(f"{sum(rows.values())} rows copied; start the server with the same DANLU_SERVER_ variables")
            else:
                from danlu.store import facts

                old.write(facts.restate, _facts(target))
        finally:
            database.close()


@app.command(context_settings=CONTEXT)
def clean(
    dry_run: bool = typer.Option(False, "--dry-run", help="Only show what would go."),
    data_dir: Optional[Path] = DataDir,
    as_json: AsJson = False,
) -> None:
    """Remove what nobody needs any more: uploads nobody went on with, code no job refers to, old logs, leftovers.

    Servers may go on meanwhile. They do the same by themselves, now and then.

    \b
    Examples:
      danlu admin clean --dry-run
      danlu admin clean
    """
    from danlu.cli.output import print_json
    from danlu.server.stores import cleaning_places
    from danlu.spec.units import show_size
    from danlu.store.cleaning import find_leftovers

    with _opened(data_dir) as (settings, database, _):
        found = []
        for leftover in find_leftovers(cleaning_places(settings, database)):
            found.append({"kind": leftover.kind.value, "name": leftover.name, "size": leftover.size})
            if not as_json:
                print(f"{leftover.kind.value:<22} {show_size(leftover.size):>10}  {leftover.name}")
            if not dry_run:
                leftover.remove()
    if as_json:
        print_json(found)
        return
    total = show_size(sum(int(str(item["size"])) for item in found))
    print(f"{len(found)} things, {total}, {'would be removed' if dry_run else 'removed'}")


@contextmanager
def _opened(
    data_dir: Optional[Path], *, alone: bool = False, **given: str
) -> Iterator[tuple[ServerSettings, Database, Stores]]:
    """The stores of the server that would be started with these settings; `alone`: while there is none."""
    from danlu.errors import MissingExtra

    try:
        from danlu.server.main import only_one
        from danlu.server.settings import load_settings
        from danlu.server.stores import make_inner, make_objects, open_database
        from danlu.store.backup import Stores
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("danlu"):
            raise
        raise MissingExtra(f"this needs {error.name!r}; pip install 'danlu[server]' brings it") from error

    settings = load_settings(data_dir=data_dir, **given)
    settings.server_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = open_database(settings)
    try:
        stores = Stores(objects=make_objects(settings), inner=make_inner(settings))
        if not alone:
            yield settings, database, stores
            return
        with only_one(settings, is_shared=not database.is_sqlite):
            yield settings, database, stores
    finally:
        database.close()


def _facts(settings: ServerSettings) -> dict[str, str]:
    from danlu.server.main import shared_facts

    return shared_facts(settings)


def _bring_key(settings: ServerSettings, source: Path) -> None:
    """Put the backup's sealing key in its place; without one there must be the right one already."""
    import os

    from danlu.auth.secrets import Sealer
    from danlu.errors import Conflict
    from danlu.store.backup import read_fact, read_key
    from danlu.store.facts import SEALING_KEY

    place = settings.server_dir / "secret.key"
    key, wanted = read_key(source), read_fact(source, SEALING_KEY)
    if not place.exists() and key is not None:
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
    if wanted is None or (place.exists() and Sealer(place).fingerprint == wanted):
        return
    told = (
        f"{place} is not the key of this backup"
        if place.exists()
        else f"the backup holds no key, and there is no {place}"
    )
    raise Conflict(f"{told}; put the secret.key of the server that was backed up there")


def _now() -> datetime:
    from danlu.scheduler.parts import utc_now

    return utc_now()


def _count(noun: str) -> Callable[[int], None]:
    """Say how many, on a terminal."""

    def said(number: int) -> None:
        if sys.stderr.isatty() and number % 100 == 0:
            print(f"\r{number} {noun}", end="", file=sys.stderr, flush=True)

    return said


def _shown(url: str) -> str:
    """A database URL without its password."""
    head, at, tail = url.rpartition("@")
    return f"{head.partition('://')[0]}://...@{tail}" if at else url
