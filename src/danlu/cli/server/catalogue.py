"""`danlu admin catalogue list|show|load`"""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.terminal import echo, echo_block

app = typer.Typer(name="catalogue", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
Name = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A catalogue that comes with Danlu, or a file.")]


@app.callback()
def _catalogue() -> None:
    """Load flavors and frameworks under the names of another platform.

    These commands talk to the server, as an admin.
    """


@app.command("list", context_settings=CONTEXT)
def list_() -> None:
    """List the catalogues that come with Danlu.

    \b
    Examples:
      danlu admin catalogue list
    """
    from danlu.client.cluster.catalogues import shipped

    for name in shipped():
        echo(name)


@app.command(context_settings=CONTEXT)
def show(catalogue: Name) -> None:
    """Print a catalogue, to write another one like it.

    \b
    Examples:
      danlu admin catalogue show ti-one > ours.yml
    """
    from danlu.client.cluster.catalogues import read_text

    echo_block(read_text(catalogue))


@app.command(context_settings=CONTEXT)
def load(
    catalogue: Name,
    device: Optional[str] = typer.Option(
        None, metavar="TYPE[:MODEL]", help="Use these devices instead of those in the file; cpu: none."
    ),
    devices_only: bool = typer.Option(
        False, "--devices-only", help="Reserve no cores and no memory, for simulated or small machines."
    ),
) -> None:
    """Add the flavors and frameworks of a catalogue. Those that exist are changed.

    The whole file is checked before anything is sent.

    \b
    Examples:
      danlu admin catalogue load ti-one
      danlu admin catalogue load ti-one --device npu:910b --devices-only
      danlu admin catalogue load ours.yml
    """
    from danlu.client import Client
    from danlu.client.cluster import catalogues

    wanted = catalogues.adapted(
        catalogues.parse(catalogues.read_text(catalogue)), device=device, devices_only=devices_only
    )
    with Client() as client:
        loaded = list(catalogues.load(wanted, flavors=client.flavors, frameworks=client.frameworks))
    for one in loaded:
        echo(f"{'added' if one.is_new else 'changed'} {one.kind} {one.name}")
