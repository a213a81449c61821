"""`danlu cost`"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_json

if TYPE_CHECKING:
    from danlu.wire.costs import CostRow

BY = ("project", "user")


def cost(
    since: Optional[str] = typer.Option(None, metavar="TIME", help="Count from here: 30d, 12h or 2026-01-31."),
    until: Optional[str] = typer.Option(None, metavar="TIME", help="Count up to here. Default: now."),
    by: Optional[str] = typer.Option(None, metavar="project|user", help="Group by project or by user."),
    as_json: AsJson = False,
) -> None:
    """Show what jobs cost, by project and user.

    For admins. Jobs without a flavor have no price. Deleted jobs are not counted.

    \b
    Examples:
      danlu cost
      danlu cost --since 30d --by project
      danlu cost --since 2026-01-01 --until 2026-02-01 --json
    """
    from danlu.cli.output import table
    from danlu.client import Client
    from danlu.spec.money import show_cost

    if by is not None and by not in BY:
        raise typer.BadParameter(f"expected project or user, got {by!r}", param_hint="--by")
    with Client() as client:
        found = client.costs(since=since, until=until)
    if as_json:
        echo_json(found)
        return
    rows = [
        (*names, str(num_jobs), f"{hours:.2f}", show_cost(amount, currency))
        for (names, currency), (num_jobs, hours, amount) in _sums(found.items, by).items()
    ]
    headings = (by.upper(),) if by is not None else ("PROJECT", "USER")
    echo_block(table((*headings, "JOBS", "HOURS", "COST"), rows))


def _sums(items: list[CostRow], by: Optional[str]) -> dict[tuple[tuple[str, ...], str], tuple[int, float, Decimal]]:
    """(names, currency) -> jobs, hours and cost."""
    found: dict[tuple[tuple[str, ...], str], tuple[int, float, Decimal]] = {}
    for one in items:
        names = (one.project, one.user) if by is None else (one.project if by == "project" else one.user,)
        jobs, hours, amount = found.get((names, one.currency), (0, 0.0, Decimal(0)))
        found[names, one.currency] = (jobs + one.num_jobs, hours + one.hours, amount + one.cost)
    return found
