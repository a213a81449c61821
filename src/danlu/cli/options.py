"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Do not follow the logs.")]
JobName = Annotated[str, typer.Argument(metavar="JOB", help="Job id, or name (the newest job of that name).")]
JobNames = Annotated[list[str], typer.Argument(metavar="JOB...", help="Ids or names.")]
