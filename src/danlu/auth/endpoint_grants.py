"""Grants that let a browser use one endpoint of one job: sealed, bound to a user and to how they signed in, with an
expiry.

A link leads to the endpoint's own host name, which answers with a cookie for that host. Neither carries rights: those
are read again from the database (`server/endpoints/operations.py`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from danlu.auth.secrets import Sealer
from danlu.errors import Unavailable

LINK_SECONDS = 60.0
COOKIE_SECONDS = 12 * 3600.0
MAX_GRANT_CHARS = 2000
Kind = Literal["link", "cookie", "bare link", "bare cookie"]
"""A bare grant is for a bare IP address, without host names, and is valid nowhere else."""


class EndpointGrant(NamedTuple):
    user_id: int
    via: str
    """The key or session that the user requested it with; the grant ends with it."""

    job_id: str
    endpoint: str
    ends_at: float
    """Unix time."""


def seal_grant(sealer: Sealer, grant: EndpointGrant, *, kind: Kind) -> str:
    values = {name: str(value) for name, value in grant._asdict().items()}
    return sealer.seal({"is": f"endpoint {kind}", **values}).decode()


def open_grant(sealer: Sealer, text: str, *, kind: Kind) -> EndpointGrant | None:
    """None when it was not sealed with this key, or is of another kind. The caller checks the other fields."""
    if len(text) > MAX_GRANT_CHARS or not text.isascii():
        return None
    try:
        values = sealer.open(text.encode())
    except Unavailable:
        return None
    if values.get("is") != f"endpoint {kind}":
        return None
    return EndpointGrant(
        user_id=int(values["user_id"]),
        via=values["via"],
        job_id=values["job_id"],
        endpoint=values["endpoint"],
        ends_at=float(values["ends_at"]),
    )
