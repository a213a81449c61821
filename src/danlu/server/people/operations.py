"""Signing in and passwords. Passwords are hashed and verified while no transaction is open, since that takes long."""

from __future__ import annotations

from danlu.auth import rights, secrets
from danlu.auth.identity import Identity, JobIdentity, Origin, UserIdentity
from danlu.errors import InvalidInput, NotAllowed, NotSignedIn
from danlu.server.identity import browser_session
from danlu.server.invalid import bad_field
from danlu.server.people import service, sign_in
from danlu.server.state import ServerState
from danlu.store.queries import people
from danlu.wire.auth import MeOut, SessionOut, SetPassword, SignIn


def open_session(state: ServerState, body: SignIn, origin: Origin) -> tuple[SessionOut, str]:
    """Sign in with a link or a password. Return the session and the cookie's value."""
    if body.token is not None:
        new_hash = None
        if body.new_password is not None:
            if not state.database.read(people.has_link, secrets.digest(body.token), state.now()):
                raise sign_in.used_up()
            new_hash = state.passwords.hash(body.new_password)
        return state.database.write(sign_in.by_link, state, body.token, new_hash, origin)
    if body.name is None or body.password is None:
        raise InvalidInput("give a token, or a name and a password")
    if body.new_password is not None:
        raise bad_field("new_password", "goes with a token only; use PUT /me/password to change your password")
    user_id = check_password(state, body.name, body.password, origin)
    if user_id is None:
        raise NotSignedIn(sign_in.WRONG)
    return state.database.write(sign_in.open_session, state, user_id, origin, way="password")


def set_password(state: ServerState, who: UserIdentity, body: SetPassword, cookie: str) -> None:
    """Choose a password. Ends other sessions and links; API keys stay."""
    user = state.database.read(people.get_user, who.user_id)
    if user is not None and user.password_hash is None:
        rights.check_lasting(who, "a first password")
    elif user is not None:
        told = "the current password is missing or wrong; an admin can create a link to set a new one"
        if body.current is None or check_password(state, who.name, body.current, who.origin) is None:
            raise bad_field("current", told)
    hashed = state.passwords.hash(body.password)
    state.database.write(sign_in.store_password, who, hashed, state.now(), but_session=secrets.digest(cookie))


def check_password(state: ServerState, name: str, password: str, origin: Origin) -> int | None:
    """Return the id of the user; None when the password is wrong. Takes the same time for names that do not exist.

    A try is counted before the check and taken back if the password is right, so that concurrent tries cannot bypass
    the limit.
    """
    with state.passwords.turns.take():
        counts, user_id, stored = state.database.write(sign_in.count_try, name, origin.address, state.now())
        if not state.passwords.check(stored, password):
            return None
    state.database.write(sign_in.take_back, counts)
    return user_id


def me(state: ServerState, who: Identity, cookie: str) -> MeOut:
    """The caller's account; for a browser session with its CSRF token."""
    if isinstance(who, JobIdentity):
        return state.database.read(service.job_itself, who)
    found = state.database.read(service.me, who)
    if not who.origin.via.startswith("session"):
        return found
    _, csrf = browser_session(state, cookie, who.origin)
    return found.model_copy(update={"csrf": csrf})


def own_link(state: ServerState, cookie: str, csrf: str, origin: Origin) -> str:
    """A link for the user of this browser session, to sign in on the command line."""
    who, right = browser_session(state, cookie, origin)
    if not secrets.same(csrf, right):
        raise NotAllowed("this form is not from the page of this session; open it again")
    token = state.database.write(service.make_own_link, who, state.now())
    return f"{state.settings.reached_at}/signin?token={token}"
