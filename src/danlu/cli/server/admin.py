"""`danlu admin backup|restore|migrate-store|clean`: work on the stores of a server, on its machine."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import counter, echo, echo_err, echo_json

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

    done = _tools().backup(to, data_dir, with_key=with_key)
    rows = sum(done.num_rows.values())
    echo(f"{to}: {rows} rows, a list of {done.num_objects} objects ({show_size(done.num_bytes)})")


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
    done = _tools().restore(source, data_dir)
    echo(
        f"{sum(done.num_rows.values())} rows are back; {done.num_objects - len(done.missing)} of "
        f"{done.num_objects} objects are there"
    )
    for name in done.missing[:10]:
        echo_err(f"danlu: missing: {name}")
    if done.missing:
        echo_err(f"danlu: {len(done.missing)} objects are missing; copy them into the store")
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
    for told in _tools().migrate_store(data_dir, objects_only=objects_only, said=counter("objects")):
        echo(told)


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
    from danlu.spec.units import show_size

    found = []
    for leftover in _tools().leftovers(data_dir):
        found.append({"kind": leftover.kind.value, "name": leftover.name, "size": leftover.size})
        if not as_json:
            echo(f"{leftover.kind.value:<22} {show_size(leftover.size):>10}  {leftover.name}")
        if not dry_run:
            leftover.remove()
    if as_json:
        echo_json(found)
        return
    total = show_size(sum(int(str(item["size"])) for item in found))
    echo(f"{len(found)} things, {total}, {'would be removed' if dry_run else 'removed'}")


def _tools() -> ModuleType:
    """What works on stores; it needs the server's packages."""
    from danlu.errors import MissingExtra

    try:
        from danlu.server import admin as tools
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("danlu"):
            raise
        raise MissingExtra(f"this needs {error.name!r}; pip install 'danlu[server]' brings it") from error
    return tools
