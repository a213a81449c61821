"""`danlu store cp|ls|rm|mb|rb|mvb`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_json, one_line, progress_bar

if TYPE_CHECKING:
    from danlu.client import Client
    from danlu.wire.store import ObjectOut

SCHEME = "store://"
app = typer.Typer(name="store", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)


@app.callback()
def _store() -> None:
    """Copy, list and delete files in the store.

    Paths in the store are written store://bucket/path; one that ends in / is a folder.
    """


@app.command(context_settings=CONTEXT)
def cp(
    source: str = typer.Argument(..., metavar="FROM", help="Local path or store://... path."),
    target: str = typer.Argument(..., metavar="TO", help="Local path or store://... path."),
    recursive: bool = typer.Option(False, "--recursive", "-r", help="Copy a folder with its content."),
    parallel: int = typer.Option(4, min=1, max=64, help="Number of parallel transfers."),
) -> None:
    """Copy files to or from the store.

    Every file is checked by its SHA-256 and appears whole or not at all. Run the command again to resume
    an interrupted download.

    \b
    Examples:
      danlu store cp data.tar store://main/raw/
      danlu store cp -r images/ store://main/images/
      danlu store cp store://main/jobs/train-074123456789012345/model/model.pt .
      danlu store cp -r store://main/jobs/train-074123456789012345/ results/
    """
    from danlu.client import Client

    up, down = not source.startswith(SCHEME), not target.startswith(SCHEME)
    if up == down:
        raise typer.BadParameter("expected one store://bucket/path and one local path")
    if up and Path(source).is_dir() and not (recursive or source.endswith("/")):
        raise typer.BadParameter(f"{source} is a folder; use -r to copy it")
    if down and recursive:
        source = source.rstrip("/") + "/"
    with Client() as client, progress_bar() as progress:
        copy = client.store.upload if up else client.store.download
        num_files = len(copy(source, target, progress=progress, num_parallel=parallel))
    echo(f"copied {num_files} file{'' if num_files == 1 else 's'}")


@app.command(context_settings=CONTEXT)
def ls(
    path: Optional[str] = typer.Argument(None, help="store://bucket/path; default: list the buckets."),
    recursive: bool = typer.Option(False, "--recursive", "-r", help="List all levels."),
    as_json: AsJson = False,
) -> None:
    """List buckets, folders and objects.

    \b
    Examples:
      danlu store ls
      danlu store ls store://main/
      danlu store ls -r store://main/jobs/train-074123456789012345/
    """
    from danlu.client import Client
    from danlu.errors import NotFound

    with Client() as client:
        if path is None:
            buckets = list(client.store.buckets())
            echo_json(buckets) if as_json else echo_block("\n".join(f"{SCHEME}{bucket.name}/" for bucket in buckets))
            return
        found = _listed(client, path, recursive=recursive)
    if not found and not path.endswith("/"):
        raise NotFound(f"nothing is stored at {path}")
    echo_json(found) if as_json else echo_block("\n".join(_entry_text(entry) for entry in found))


@app.command(context_settings=CONTEXT)
def rm(
    path: str = typer.Argument(..., help="store://bucket/path"),
    recursive: bool = typer.Option(False, "--recursive", "-r", help="Delete a folder with its content."),
) -> None:
    """Delete an object, or with -r a folder or all that is in a bucket. The bucket itself stays: see `rb`.

    \b
    Examples:
      danlu store rm store://main/raw/data.tar
      danlu store rm -r store://main/images/
      danlu store rm -r store://scratch
    """
    from danlu.client import Client
    from danlu.client.files.store import parse
    from danlu.errors import NotFound

    if path.endswith("/") and not recursive:
        raise typer.BadParameter(f"{path} is a folder; use -r to delete it")
    where = parse(path)
    with Client() as client:
        if recursive and not where.key:
            num_objects = client.store.empty(where.bucket)
        else:
            num_objects = client.store.delete(path.rstrip("/") + "/" if recursive else path)
    if num_objects == 0:
        raise NotFound(f"nothing is stored at {path}")
    echo(f"deleted {num_objects} object{'' if num_objects == 1 else 's'}")


@app.command(context_settings=CONTEXT)
def mb(
    bucket: str = typer.Argument(..., help="Name of the bucket, with or without store://."),
    project: Optional[str] = typer.Option(None, help="Project of the bucket; default: your default project."),
) -> None:
    """Create a bucket.

    \b
    Examples:
      danlu store mb team-data
      danlu store mb vision-data --project vision
    """
    from danlu.client import Client

    with Client() as client:
        made = client.store.make_bucket(_bucket_name(bucket), project=project)
    echo(f"{SCHEME}{made.name}/")


@app.command(context_settings=CONTEXT)
def rb(bucket: str = typer.Argument(..., help="Name of the bucket, with or without store://.")) -> None:
    """Delete an empty bucket.

    \b
    Examples:
      danlu store rb team-data
    """
    from danlu.client import Client

    with Client() as client:
        client.store.delete_bucket(_bucket_name(bucket))
    echo(f"deleted {SCHEME}{_bucket_name(bucket)}/")


@app.command(context_settings=CONTEXT)
def mvb(
    bucket: str = typer.Argument(..., help="Name of the bucket, with or without store://."),
    project: str = typer.Argument(..., help="The new project."),
) -> None:
    """Move a bucket to another project.

    \b
    Examples:
      danlu store mvb team-data vision
    """
    from danlu.client import Client

    with Client() as client:
        moved = client.store.move_bucket(_bucket_name(bucket), project)
    echo(f"{SCHEME}{moved.name}/ belongs to {moved.project}")


def _listed(client: Client, path: str, *, recursive: bool) -> list[object]:
    from danlu.client.files.store import parse

    where = parse(path)
    if recursive:
        return list(client.store.list(path))
    entries = list(client.store.browse(path))
    # `ls store://main/images` lists that folder, not every key with this prefix
    if where.key and not where.key.endswith("/"):
        if f"{where.key}/" in entries:
            return list(client.store.browse(f"{path}/"))
        return [entry for entry in entries if getattr(entry, "key", None) == where.key]
    return list(entries)


def _bucket_name(text: str) -> str:
    return text[len(SCHEME) :].rstrip("/") if text.startswith(SCHEME) else text


def _entry_text(entry: object) -> str:
    from danlu.spec.units import show_size

    if isinstance(entry, str):
        return f"{'folder':>10}  {'':19}  {one_line(entry)}"
    found: ObjectOut = entry  # type: ignore[assignment]
    return f"{show_size(found.size):>10}  {found.modified_at:%Y-%m-%d %H:%M:%S}  {one_line(found.key)}"
