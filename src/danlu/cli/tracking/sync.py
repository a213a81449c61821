"""`danlu sync`"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_err, echo_json, one_line

if TYPE_CHECKING:
    from danlu.track.sync.syncing import Api, Synced


def sync(
    folder: Optional[Path] = typer.Argument(
        None, metavar="[DIR]", help="A run, or a folder with runs; default: .danlu/runs."
    ),
    as_json: AsJson = False,
) -> None:
    """Upload runs and artifacts from this machine to the server.

    Idempotent: run it on any machine, during training or after it. What the server has is not sent again. A run
    whose process ended without finishing it is marked as died.

    \b
    Exit codes: 0 everything is uploaded, 1 something is not.

    \b
    Examples:
      danlu sync
      danlu sync /shared/experiments
      danlu sync .danlu/runs/mnist-run-4mpa3qx...
    """
    from danlu.cli.tracking.sync_artifacts import sync_artifacts
    from danlu.client.config import load_settings
    from danlu.content.drafts import find_drafts
    from danlu.errors import InvalidInput, NotSignedIn, ServerUnreachable
    from danlu.track.folders import find_runs, runs_folder
    from danlu.track.sync.address import Address, connected
    from danlu.track.sync.syncing import ServerAway

    place = runs_folder(os.environ, str(folder) if folder is not None else None)
    runs, drafts = list(find_runs(place)), list(find_drafts(place))
    if not runs and not drafts and folder is not None and not folder.exists():
        raise InvalidInput(f"there is no folder {str(folder)!r}")
    settings = load_settings()
    if settings.credentials is None:
        raise NotSignedIn(f"no key for {settings.url} is configured; run `danlu login`, or set DANLU_API_KEY")
    address = Address(settings.url, settings.credentials)
    done: list[Synced] = []
    with connected(address) as api:
        try:
            done.extend(found for one in runs if (found := _sync_one(api, one, is_quiet=as_json)) is not None)
        except ServerAway as error:
            raise ServerUnreachable(
                f"no server at {settings.url} ({error}); {len(done)} of {len(runs)} runs were synced"
            ) from error
    artifacts = sync_artifacts(address, drafts, is_quiet=as_json)
    if as_json:
        echo_json([*(one._asdict() for one in done), *(one._asdict() for one in artifacts)])
    elif not done and not artifacts:
        echo_err(f"no runs and no artifacts below {place}")
    if any([one.problem for one in done] + [one.problem for one in artifacts]):
        raise typer.Exit(1)


def _sync_one(api: Api, folder: str, *, is_quiet: bool) -> Optional[Synced]:
    """Sync a run and say so; None when its folder has no journal. Raises ServerAway."""
    from danlu.spec.units import show_size
    from danlu.track.folders import journals_in
    from danlu.track.sync.syncing import ServerAway, Synced, sync_run

    problem = "no journal in it names a run"
    try:
        found = sync_run(api, folder)
    except ServerAway:
        raise
    except Exception as error:  # whatever is in its files
        found, problem = None, f"its files cannot be read: {error!r:.300}"
    if found is None and not journals_in(folder):
        return None
    found = found or Synced(folder, "-", os.path.basename(folder), 0, problem)
    if not is_quiet:
        sent = f"{show_size(found.num_bytes)} sent" if found.num_bytes else "already uploaded"
        echo(one_line(f"{found.run_id}  {found.name}  {found.problem or sent}"))
    return found
