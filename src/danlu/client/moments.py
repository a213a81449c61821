"""Parse moments: Unix seconds, a datetime, a timedelta, or text such as `10m` and `2026-01-31T12:00`."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Union

from danlu.errors import InvalidInput
from danlu.spec.units import parse_duration

Since = Union[float, str, datetime, timedelta]


def unix_seconds(since: Since, now: float) -> float:
    """Return Unix seconds. A timedelta or duration is subtracted from `now`; a naive datetime is local time."""
    if isinstance(since, (int, float)):
        return since
    if isinstance(since, timedelta):
        return now - since.total_seconds()
    if isinstance(since, datetime):
        return (since if since.tzinfo is not None else since.astimezone()).timestamp()
    return _of_text(since, now)


def _of_text(since: str, now: float) -> float:
    try:
        return now - parse_duration(since)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(since.replace("Z", "+00:00"))
    except ValueError as error:
        raise InvalidInput(
            f"{since!r} is not a time; write for example 10m, 2h or 2026-01-31T12:00", fields={"since": since}
        ) from error
    return (moment if moment.tzinfo is not None else moment.astimezone()).astimezone(timezone.utc).timestamp()
