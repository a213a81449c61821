"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Optional

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Do not follow the logs.")]
JobName = Annotated[
    str, typer.Argument(metavar="JOB", help="Job id or its beginning, or name (the newest job of that name).")
]
JobNames = Annotated[list[str], typer.Argument(metavar="JOB...", help="Ids or names.")]


def pair(text: str, option: str, *, shape: str = "NAME=VALUE") -> tuple[str, str]:
    """Both sides of `NAME=VALUE`. The value may be empty, and may contain further signs of equality."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise typer.BadParameter(f"expected {shape}, got {text!r}", param_hint=option)
    return name, value


def pairs(texts: Optional[Iterable[str]], option: str, *, shape: str = "NAME=VALUE") -> dict[str, str]:
    """The values of a repeatable option; the last one of a name wins."""
    return dict(pair(text, option, shape=shape) for text in texts or ())
