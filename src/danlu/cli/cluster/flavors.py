"""`danlu flavors list|show|add|change|enable|disable|remove|suggest`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson
from danlu.cli.terminal import echo, echo_block, echo_err, echo_json

if TYPE_CHECKING:
    from danlu.client import Client
    from danlu.wire.flavors import FlavorOut

app = typer.Typer(name="flavors", rich_markup_mode=None, context_settings=CONTEXT)
Name = Annotated[str, typer.Argument(metavar="NAME", help="A flavor's name.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of flavors.")]
Device = Annotated[Optional[str], typer.Option(help="Devices of a node, TYPE[:MODEL][:COUNT], such as gpu:2.")]
Cpus = Annotated[Optional[float], typer.Option(help="Cores reserved on a node.")]
Memory = Annotated[Optional[str], typer.Option(help="Memory reserved on a node, such as 64GiB.")]
Price = Annotated[Optional[str], typer.Option(help="Price per node and hour, such as 18.40.")]
Description = Annotated[Optional[str], typer.Option(help="What it is for.")]


@app.callback(invoke_without_command=True)
def _flavors(context: typer.Context) -> None:
    """Named machine shapes with prices.

    Without a subcommand: the list. A job uses one as `flavor` (`danlu run --flavor NAME`), and keeps the shape and
    the price that it had at submission. Admins change them.

    \b
    Examples:
      danlu flavors
      danlu flavors add npu-8 --device npu:910b:8 --price 96
    """
    if context.invoked_subcommand is None:
        list_()


@app.command("list", context_settings=CONTEXT)
def list_(as_json: AsJson = False) -> None:
    """List flavors with shapes, prices and free nodes.

    \b
    Examples:
      danlu flavors list
      danlu flavors list --json | jq -r '.[] | [.name, .price_per_hour] | @tsv'
    """
    from danlu.client import Client

    with Client() as client:
        found = list(client.flavors.list())
    if as_json:
        echo_json(found)
        return
    echo_block(rows_text(found))
    if not found:
        echo_err("no flavors; an admin can add some: danlu flavors suggest")


@app.command(context_settings=CONTEXT)
def show(flavor: Name, as_json: AsJson = False) -> None:
    """Show a flavor.

    \b
    Examples:
      danlu flavors show gpu-8
    """
    from danlu.client import Client

    with Client() as client:
        _print(client.flavors.get(flavor), as_json)


@app.command(context_settings=CONTEXT)
def add(
    flavor: Name,
    device: Device = None,
    cpus: Cpus = None,
    memory: Memory = None,
    price: Price = None,
    description: Description = None,
    as_json: AsJson = False,
) -> None:
    """Add a flavor; for admins.

    \b
    Examples:
      danlu flavors add npu-8 --device npu:910b:8 --cpus 96 --memory 512GiB --price 98.50
      danlu flavors add small --cpus 2 --memory 4GiB --price 0.70 --description 'to try things out'
    """
    from danlu.client import Client

    with Client() as client:
        made = client.flavors.add(
            flavor, device=device, cpus=cpus, memory=memory, price_per_hour=price, description=description
        )
    _print(made, as_json)


@app.command(context_settings=CONTEXT)
def change(
    flavor: Name,
    device: Device = None,
    cpus: Cpus = None,
    memory: Memory = None,
    price: Price = None,
    description: Description = None,
    as_json: AsJson = False,
) -> None:
    """Change a flavor; for admins. Existing jobs keep their shape and price.

    Other fields stay unchanged; --cpus 0 and --memory 0 reserve nothing.

    \b
    Examples:
      danlu flavors change npu-8 --price 88
    """
    from danlu.client import Client

    with Client() as client:
        changed = client.flavors.change(
            flavor, device=device, cpus=cpus, memory=memory, price_per_hour=price, description=description
        )
    _print(changed, as_json)


@app.command(context_settings=CONTEXT)
def enable(flavors: Names) -> None:
    """Enable flavors for new jobs; for admins.

    \b
    Examples:
      danlu flavors enable npu-8
    """
    from danlu.client import Client

    with Client() as client:
        for name in flavors:
            client.flavors.enable(name)
            echo(f"{name} is enabled")


@app.command(context_settings=CONTEXT)
def disable(flavors: Names) -> None:
    """Disable flavors for new jobs; for admins.

    \b
    Examples:
      danlu flavors disable npu-8
    """
    from danlu.client import Client

    with Client() as client:
        for name in flavors:
            client.flavors.disable(name)
            echo(f"{name} is disabled")


@app.command(context_settings=CONTEXT)
def remove(flavors: Names) -> None:
    """Delete flavors; for admins. Existing jobs keep their shape and price.

    \b
    Examples:
      danlu flavors remove npu-8
    """
    from danlu.client import Client

    with Client() as client:
        for name in flavors:
            client.flavors.remove(name)
            echo(f"removed {name}")


@app.command(context_settings=CONTEXT)
def suggest(
    add_: bool = typer.Option(False, "--add", help="Add all of them."),
    as_json: AsJson = False,
) -> None:
    """Suggest flavors for the existing nodes, without prices; for admins.

    One device, half a node and a whole node of each kind of node.

    \b
    Examples:
      danlu flavors suggest
      danlu flavors suggest --add
    """
    from danlu.client import Client

    with Client() as client:
        found = client.flavors.suggestions()
        if add_:
            found = [_add(client, one) for one in found]
    echo_json(found) if as_json else echo_block(rows_text(found))


def rows_text(flavors: list[FlavorOut]) -> str:
    """The list as a table."""
    from danlu.cli.output import table
    from danlu.spec.money import show_price
    from danlu.spec.units import show_size

    rows = [
        (
            one.name,
            one.device,
            "-" if one.cpus is None else f"{one.cpus:g}",
            "-" if one.memory is None else show_size(one.memory),
            show_price(one.price_per_hour, one.currency),
            f"{one.num_free} of {one.num_total}",
            "" if one.is_enabled else "disabled",
            " ".join(one.description.split()),
        )
        for one in flavors
    ]
    return table(("NAME", "DEVICE", "CPUS", "MEMORY", "PRICE", "FREE", "STATE", "DESCRIPTION"), rows)


def _add(client: Client, wanted: FlavorOut) -> FlavorOut:
    return client.flavors.add(
        wanted.name,
        device=wanted.device,
        cpus=wanted.cpus,
        memory=wanted.memory,
        price_per_hour=wanted.price_per_hour,
        description=wanted.description,
    )


def _print(flavor: FlavorOut, as_json: bool) -> None:

    echo_json(flavor) if as_json else echo_block(rows_text([flavor]))
