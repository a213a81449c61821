"""`danlu audit`"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any, Optional

import typer

from danlu.cli.options import AsJson
from danlu.cli.terminal import echo_block, echo_err, echo_json


def audit(
    person: Optional[str] = typer.Option(None, help="Changes by this user (or job)."),
    thing: Optional[str] = typer.Option(
        None, "--object", help="Changes of this object, such as project/vision or user/ada."
    ),
    action: Optional[str] = typer.Option(None, help="Changes of this kind, such as key.make."),
    project: Optional[str] = typer.Option(None, help="Changes in this project."),
    since: Optional[str] = typer.Option(None, help="Not before: 2h, 3d, 2026-11-15 or 2026-11-15T08:00."),
    until: Optional[str] = typer.Option(None, help="Before: 2h, 3d, 2026-11-15 or 2026-11-15T08:00."),
    limit: int = typer.Option(50, "--limit", "-n", min=1, help="Maximum number, newest first."),
    as_json: AsJson = False,
) -> None:
    """Show who changed what, when and from where.

    Newest last. Admins see everything, project owners see their projects.

    \b
    Examples:
      danlu audit
      danlu audit --person ada --since 7d
      danlu audit --object user/mallory --json
      danlu audit --project vision --action member.set
    """
    from itertools import islice

    from danlu.cli.output import table
    from danlu.client import Client

    begin, end = moment(since, "--since"), moment(until, "--until")
    with Client() as client:
        events = client.audit(person=person, object=thing, action=action, project=project, since=begin, until=end)
        found = list(islice(events, limit + 1))
    shown = found[:limit][::-1]
    if as_json:
        echo_json(shown)
        return
    rows = [
        (
            f"{event.at.astimezone():%Y-%m-%d %H:%M:%S}",
            event.actor or "-",
            event.action if event.count == 1 else f"{event.action} x{event.count}",
            event.object,
            event.address or "-",
            event.via or "-",
            _details(event.details),
        )
        for event in shown
    ]
    echo_block(table(("TIME", "WHO", "ACTION", "OBJECT", "FROM", "BY", "DETAILS"), rows))
    if len(found) > limit:
        echo_err(f"only the newest {limit}; use -n for more")


def moment(text: Optional[str], option: str) -> Optional[datetime]:
    """Parse a time or an age."""
    if text is None:
        return None
    ago = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    if ago:
        seconds = int(ago.group(1)) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[ago.group(2)]
        return datetime.now(timezone.utc) - timedelta(seconds=seconds)
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise typer.BadParameter(f"{option}: expected 2h, 3d, 2026-11-15 or 2026-11-15T08:00, got {text!r}") from None


def _details(details: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in details.items() if value not in ("", False)) or "-"
