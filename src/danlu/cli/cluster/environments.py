"""`danlu environments`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_json

if TYPE_CHECKING:
    from danlu.wire.nodes import EnvironmentOut

_KEY_CHARS = 12


def environments(
    key: Optional[str] = typer.Argument(None, metavar="[KEY]", help="Show the packages of this one."),
    as_json: AsJson = False,
) -> None:
    """List installed packages of jobs on the nodes.

    Each environment is what the `requirements` of a job name, for one Python and platform. Nodes remove those that were
    not used for the longest time when they need the space.

    \b
    Examples:
      danlu environments
      danlu environments 3f9a2c51d0b7
      danlu environments --json | jq '.[].packages'
    """
    from danlu.client import Client

    with Client() as client:
        found = list(client.environments())
    if key is not None:
        found = [one for one in found if one.key.startswith(key)]
        if not found:
            raise typer.BadParameter(f"no environment {key!r}; `danlu environments` lists them", param_hint="KEY")
    if as_json:
        echo_json(found)
    elif key is not None:
        echo_block("\n".join(dict.fromkeys(package for one in found for package in one.packages)))
    else:
        echo_block(environments_text(found))


def environments_text(found: list[EnvironmentOut]) -> str:
    from danlu.cli.output import age, table
    from danlu.spec.units import show_size

    if not found:
        return "no environments; a job with `requirements` creates one"
    rows = [
        (
            one.key[:_KEY_CHARS],
            one.node,
            one.project,
            one.python,
            str(len(one.packages)),
            show_size(one.size_bytes),
            age(one.made_at),
            age(one.used_at),
        )
        for one in found
    ]
    return table(("KEY", "NODE", "PROJECT", "PYTHON", "PACKAGES", "SIZE", "AGE", "USED"), rows)
