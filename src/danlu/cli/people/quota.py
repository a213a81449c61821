"""`danlu quota show|set`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli import CONTEXT
from danlu.cli.options import AsJson, pairs
from danlu.cli.terminal import echo_block, echo_json

if TYPE_CHECKING:
    from danlu.client import Client
    from danlu.wire.quotas import QuotaOut, QuotasOut

app = typer.Typer(name="quota", rich_markup_mode=None, no_args_is_help=True, context_settings=CONTEXT)
_Project = typer.Option(None, "--project", "-p", help="Project; default: yours if you have one.")


@app.callback()
def _quota() -> None:
    """Show and set quotas of projects and users."""


@app.command(context_settings=CONTEXT)
def show(project: Optional[str] = _Project, as_json: AsJson = False) -> None:
    """Show holdings, quota and what is free, for the project and each of its users.

    \b
    Examples:
      danlu quota show
      danlu quota show --project vision
    """
    from danlu.client import Client

    with Client() as client:
        found = client.quotas.get(project or _only_project(client))
    echo_json(found) if as_json else echo_block(quotas_text(found))


@app.command("set", context_settings=CONTEXT)
def set_(
    amounts: list[str] = typer.Argument(
        ..., metavar="RESOURCE=AMOUNT...", help="Such as npu=64 memory=2TB; none lifts a limit. Others stay."
    ),
    project: Optional[str] = _Project,
    user: Optional[str] = typer.Option(None, "--user", "-u", help="Set this user's quota in the project instead."),
) -> None:
    """Set the quota of a project (for admins), or of a user in it (for owners).

    Resources that are not named keep their quota.

    \b
    Examples:
      danlu quota set npu=64 cpus=512 --project vision
      danlu quota set npu=16 --project vision --user ann
      danlu quota set npu=none --project vision      no limit
    """
    from danlu.client import Client

    wanted = _amounts(amounts)
    with Client() as client:
        done = client.quotas.change(project or _only_project(client), wanted, user=user)
    echo_block(quotas_text(done))


def quotas_text(found: QuotasOut) -> str:
    from danlu.cli.output import table

    rows = [(found.project, "-", *_line(line)) for line in found.quotas]
    rows += [("", user.user, *_line(line)) for user in found.users for line in user.quotas]
    if not rows:
        return f"project {found.project} has no quota and no holdings"
    return table(("PROJECT", "USER", "RESOURCE", "USED", "QUOTA", "FREE", "BORROWED"), rows)


def _line(line: QuotaOut) -> tuple[str, str, str, str, str]:
    def shown(amount: Optional[float]) -> str:
        from danlu.spec.units import show_size

        if amount is None:
            return "no limit"
        return show_size(amount) if line.resource == "memory" else f"{amount:g}"

    return (line.resource, shown(line.used), shown(line.quota), shown(line.free), shown(line.borrowed))


def _amounts(items: list[str]) -> dict[str, Optional[str]]:
    shape = "RESOURCE=AMOUNT"
    found = pairs(items, shape, shape=shape)
    for name, value in found.items():
        if not value:
            raise typer.BadParameter(f"expected {shape}, got {name + '='!r}", param_hint=shape)
    return {name: None if value == "none" else value for name, value in found.items()}


def _only_project(client: Client) -> str:
    names = client.me().projects
    if len(names) != 1:
        raise typer.BadParameter(f"you have several: {', '.join(names) or 'none'}", param_hint="--project")
    return names[0]
