"""`danlu admin backup|restore|migrate-store|clean`, on the machine of a server; `danlu admin catalogue`."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.server import catalogue
from danlu.cli.terminal import counter, echo, echo_err, echo_json

app = typer.Typer(name="admin", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
app.add_typer(catalogue.app)
DataDir = typer.Option(None, help="The data folder of the server.", show_default="DANLU_SERVER_DATA_DIR, else ~/.danlu")


@app.callback()
def _admin() -> None:
    """Back up, restore, migrate and clean the stores of a server.

    These commands read the same DANLU_SERVER_... variables as `danlu up`. Run them where the data folder is; only
    `catalogue` talks to the server.
    """


@app.command(context_settings=CONTEXT)
def backup(
    to: Path = typer.Argument(..., metavar="FILE", help="The backup to write, such as danlu.zip."),
    with_key: bool = typer.Option(False, "--with-key", help="Include the sealing key, which decrypts job secrets."),
    data_dir: Optional[Path] = DataDir,
) -> None:
    """Write all rows of the database and a list of all objects into one file. Servers may run meanwhile.

    Objects and logs are not included; copy them with the tools of their store afterwards. Without --with-key, keep
    server/secret.key of the data folder somewhere safe: job secrets cannot be decrypted without it.

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
    """Restore a backup into an empty database and check its objects.

    No server may run on the data folder. The sealing key is read from the backup if included; otherwise copy
    secret.key to server/ in the data folder first. The exit code is 1 if objects are missing.

    \b
    Examples:
      danlu admin restore danlu.zip --data-dir /srv/danlu
    """
    done = _tools().restore(source, data_dir)
    echo(
        f"{sum(done.num_rows.values())} rows restored; {done.num_objects - len(done.missing)} of "
        f"{done.num_objects} objects found"
    )
    for name in done.missing[:10]:
        echo_err(f"danlu: missing: {name}")
    if done.missing:
        echo_err(f"danlu: {len(done.missing)} objects are missing; copy them into the store")
        raise typer.Exit(1)


@app.command("migrate-store", context_settings=CONTEXT)
def migrate_store(
    objects_only: bool = typer.Option(
        False, "--objects-only", help="Only copy objects, while the server runs. Shortens the migration."
    ),
    data_dir: Optional[Path] = DataDir,
) -> None:
    """Migrate from SQLite and a folder to DANLU_SERVER_DATABASE_URL and DANLU_SERVER_OBJECTS_URL.

    Stop the server first, and start it with the same variables afterwards. Copies are checked by SHA-256; run the
    command again to resume. The folder and the SQLite file stay, but no server starts on them again.

    \b
    Examples:
      danlu admin migrate-store --objects-only    # while the server runs
      danlu admin migrate-store                   # when it is stopped
    """
    for told in _tools().migrate_store(data_dir, objects_only=objects_only, said=counter("objects")):
        echo(told)


@app.command(context_settings=CONTEXT)
def clean(
    dry_run: bool = typer.Option(False, "--dry-run", help="Only list what would be removed."),
    data_dir: Optional[Path] = DataDir,
    as_json: AsJson = False,
) -> None:
    """Remove abandoned uploads, unused code, old logs and leftover files.

    Servers may run meanwhile. They also clean up by themselves regularly.

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
    """The module that works on stores; it needs the server's packages."""
    from danlu.errors import MissingExtra

    try:
        from danlu.server import admin as tools
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("danlu"):
            raise
        raise MissingExtra(f"this needs {error.name!r}; install it with pip install 'danlu[server]'") from error
    return tools
