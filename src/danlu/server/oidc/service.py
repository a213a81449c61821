"""The rules of signing in by OpenID Connect.

Users are identified by issuer and subject, never by e-mail address: addresses are reassigned, and not always verified.

The state of a sign-in is in a sealed cookie of the browser that began it: nobody can begin a sign-in and have another
user finish it, and unauthenticated clients fill no table.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy.orm import Session

from danlu.auth import secrets
from danlu.auth.identity import Origin, Stranger
from danlu.errors import DanluError, MissingExtra, NotFound, NotSignedIn, Unavailable
from danlu.server.audit.service import record_action
from danlu.server.people.sign_in import open_session
from danlu.server.settings import ServerSettings
from danlu.server.state import ServerState
from danlu.server.users.registrations import add_registration, new_registration
from danlu.server.users.service import add_person, join
from danlu.spec.audit import Action
from danlu.spec.names import check_user_name
from danlu.store.queries import people, registrations
from danlu.store.sql.tables import UserRow
from danlu.wire.auth import SessionOut
from danlu.wire.people import RoleName

if TYPE_CHECKING:
    from danlu.server.oidc.provider import Person, Provider

LIFE = timedelta(minutes=10)
PURPOSE = "sign-in by OpenID Connect"
"""Distinguishes it from other values that are sealed with the same key."""

CALLBACK = "/signin/oidc/callback"
WAITS = "your registration waits for an admin; sign in again once it is approved"
_BEGIN_AGAIN = "this sign-in was not begun in this browser, or it took too long; begin again"


def make_provider(settings: ServerSettings) -> Provider | None:
    """The provider that the settings name; None when there is none."""
    if not settings.oidc_issuer:
        return None
    secret = None
    if settings.oidc_client_secret_file is not None:
        try:
            secret = settings.oidc_client_secret_file.expanduser().read_text().strip()
        except OSError as error:
            told = f"oidc_client_secret_file: {settings.oidc_client_secret_file}: {error.strerror}"
            raise Unavailable(told) from error
    try:
        from danlu.server.oidc.provider import Provider
    except ModuleNotFoundError as error:
        raise MissingExtra(f"signing in by OpenID Connect needs the package {error.name!r}") from error
    return Provider(settings.oidc_issuer, settings.oidc_client_id, secret, now=time.time)


def begin(state: ServerState, provider: Provider | None) -> tuple[str, str]:
    """Return where to send the browser, and the cookie that it comes back with."""
    if provider is None:
        raise NotFound("OpenID Connect is not configured on this server")
    kept = {
        "purpose": PURPOSE,
        "state": secrets.make_token(),
        "nonce": secrets.make_token(),
        "verifier": secrets.make_token(),
        "until": (state.now() + LIFE).isoformat(),
    }
    url = provider.sign_in_url(
        redirect_uri=_redirect_uri(state), state=kept["state"], nonce=kept["nonce"], verifier=kept["verifier"]
    )
    return url, state.sealer.seal(kept).decode()


def who_came_back(state: ServerState, provider: Provider | None, *, cookie: str, given: dict[str, str]) -> Person:
    """The user that the provider has authenticated."""
    if provider is None:
        raise NotFound("OpenID Connect is not configured on this server")
    kept = _open(state, cookie)
    if not secrets.same(kept["state"], given.get("state", "")):
        raise NotSignedIn(_BEGIN_AGAIN)
    if "code" not in given:
        raise NotSignedIn(f"the provider did not sign you in ({given.get('error', 'it does not say why')[:100]})")
    return provider.person_for(
        given["code"], redirect_uri=_redirect_uri(state), nonce=kept["nonce"], verifier=kept["verifier"]
    )


def _open(state: ServerState, cookie: str) -> dict[str, str]:
    try:
        kept = state.sealer.open(cookie.encode())
    except (DanluError, ValueError) as error:
        raise NotSignedIn(_BEGIN_AGAIN) from error
    if kept.get("purpose") != PURPOSE or datetime.fromisoformat(kept["until"]) < state.now():
        raise NotSignedIn(_BEGIN_AGAIN)
    return kept


def arrive(session: Session, state: ServerState, person: Person, origin: Origin) -> tuple[SessionOut, str] | None:
    """Sign in the user who returned from the provider; None when an admin has to approve them first."""
    user = registrations.user_of_subject(session, person.issuer, person.subject)
    if user is None and state.settings.oidc_people == "approval":
        _ask(session, state, person, origin)
        return None
    if user is None:
        user = _let_in(session, state, person, origin)
    return open_session(session, state, user.id, origin, way="oidc")


def _ask(session: Session, state: ServerState, person: Person, origin: Origin) -> None:
    """Create a registration, unless the user has one already."""
    if registrations.registration_of_subject(session, person.issuer, person.subject) is not None:
        return
    row = new_registration(
        state,
        origin,
        name=name_for(person),
        full_name=person.full_name,
        email=person.email,
        note="",
        issuer=person.issuer,
        subject=person.subject,
    )
    add_registration(session, row, Stranger(origin))


def _let_in(session: Session, state: ServerState, person: Person, origin: Origin) -> UserRow:
    now, name = state.now(), name_for(person)
    number = 1
    while people.user_by_name(session, name) is not None:
        number += 1
        name = f"{name_for(person)[:28]}-{number}"
    user = add_person(session, name, full_name=person.full_name, email=person.email, at=now)
    registrations.add_subject(session, person.issuer, person.subject, user.id)
    record_action(
        session, Stranger(origin), Action.REGISTRATION_MAKE, f"user/{name}", at=now, name=name, issuer=person.issuer
    )
    join(session, Stranger(origin), user, state.settings.join_project, RoleName.MEMBER, now)
    return user


def name_for(person: Person) -> str:
    """A valid user name, close to the one at the provider."""
    name = re.sub(r"[^a-z0-9_.-]+", "-", person.name.lower(), flags=re.ASCII).lstrip("0123456789._-")[:28].rstrip("-.")
    try:
        return check_user_name(name)
    except ValueError:
        return "user"


def _redirect_uri(state: ServerState) -> str:
    return f"{state.settings.reached_at}{CALLBACK}"
