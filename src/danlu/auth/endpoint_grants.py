"""What lets a browser use one endpoint of one job: sealed, bound to a user and to how they signed in, with an end.

A link is sent once to the endpoint's own host name, which answers with a cookie of that host. Neither of them says
anything about rights: whoever shows one is looked up again (`server/endpoints/gate.py`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from danlu.auth.secrets import Sealer
from danlu.errors import Unavailable

LINK_SECONDS = 60.0
COOKIE_SECONDS = 12 * 3600.0
MAX_GRANT_CHARS = 2000
Kind = Literal["link", "cookie", "bare link", "bare cookie"]
"""A bare one is for an address without names, and of no use elsewhere."""


class EndpointGrant(NamedTuple):
    user_id: int
    via: str
    """By which key or session the user asked for it: it ends with that."""

    job_id: str
    endpoint: str
    ends_at: float
    """Unix time."""


def seal_grant(sealer: Sealer, grant: EndpointGrant, *, kind: Kind) -> str:
    values = {name: str(value) for name, value in grant._asdict().items()}
    return sealer.seal({"is": f"endpoint {kind}", **values}).decode()


def open_grant(sealer: Sealer, text: str, *, kind: Kind) -> EndpointGrant | None:
    """None when it was not created here, or is of the other kind. The caller compares the rest."""
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
