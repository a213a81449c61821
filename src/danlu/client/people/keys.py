"""`client.keys`, and signing in with a one-time link or a password to create a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Optional
from urllib.parse import parse_qs, urlsplit

from danlu.client.bodies import body
from danlu.client.config import clean_url
from danlu.client.files.paths import quote_part
from danlu.client.http import Http
from danlu.client.pages import pages
from danlu.errors import InvalidInput
from danlu.wire.auth import KeyOut, MakeKey, NewKeyOut, SessionOut, SignIn


class Keys:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, *, user: Optional[str] = None) -> Iterator[KeyOut]:
        """Your own keys; admins can list those of another user."""
        return pages(self._http, "/keys", KeyOut, query={"user": user})

    def make(self, name: str = "", *, expires_in_days: Optional[int] = None, signs: bool = False) -> NewKeyOut:
        """Create a key. Its `api_key` is shown only once. `signs`: for Tencent Cloud's SDK; the parts before and after
        the dot are its secret id and its secret key."""
        made = body(MakeKey, name=name, expires_in_days=expires_in_days, signs=signs)
        return self._http.post("/keys", NewKeyOut, body=made)

    def delete(self, key_id: str) -> None:
        self._http.send("DELETE", f"/keys/{quote_part(key_id)}")


class Link(NamedTuple):
    url: str
    token: str


def parse_link(text: str) -> Link:
    """Parse a one-time link, `http://host:port/signin?token=...`."""
    parts = urlsplit(text.strip())
    tokens = parse_qs(parts.query).get("token", [])
    path, is_link, _ = parts.path.partition("/signin")
    if not is_link or len(tokens) != 1:
        raise InvalidInput("this is not a sign-in link; it looks like http://127.0.0.1:8400/signin?token=...")
    return Link(clean_url(f"{parts.scheme}://{parts.netloc}{path}"), tokens[0])


def sign_in(url: str, credentials: SignIn, *, key_name: str) -> NewKeyOut:
    """Open a session, create a key with it, and close the session."""
    http = Http(url, credentials=None)
    try:
        session = http.post("/session", SessionOut, body=credentials)
        csrf = {"X-Danlu-CSRF": session.csrf}
        key = http.post("/keys", NewKeyOut, body=MakeKey(name=key_name), headers=csrf)
        http.send("DELETE", "/session", headers=csrf)
        return key
    finally:
        http.close()
