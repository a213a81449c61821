"""Who may read `/metrics`, which names jobs, users and projects of everyone."""

from __future__ import annotations

from danlu.auth import rights, secrets
from danlu.auth.identity import UserIdentity
from danlu.errors import DanluError, NotAllowed, NotSignedIn
from danlu.server.settings import ServerSettings

_HINT = "Prometheus sends the token of `metrics_token_file`, or an admin's API key, as Bearer"


def check_scraper(settings: ServerSettings, authorization: str, who: object) -> None:
    """`who`: the identity of the request, or the error that authentication raised."""
    scheme, _, given = authorization.partition(" ")
    if settings.metrics_token_file is not None and scheme.lower() == "bearer":
        try:
            token = settings.metrics_token_file.expanduser().read_text().strip()
        except OSError as error:
            told = f"metrics_token_file cannot be read ({error.strerror}); check its path and permissions"
            raise NotAllowed(told) from error
        if token and secrets.same(token, given.strip()):
            return
    if isinstance(who, UserIdentity) and who.job is None:
        rights.check_admin(who, f"only admins may read metrics; {_HINT}")
        return
    if isinstance(who, DanluError):
        raise who
    if who is None:
        raise NotSignedIn(f"metrics need credentials; {_HINT}")
    raise NotAllowed(f"a job may not read metrics; {_HINT}")
