"""A client of an OpenID Connect provider: metadata, exchange of a code for a token, and verification.

It uses the authorization code flow with PKCE (S256), state and nonce. Signatures are checked with the provider's
published keys; only algorithms with a public key are accepted.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from danlu.auth.turns import Turns
from danlu.errors import InvalidInput, NotSignedIn, Unavailable
from danlu.server.hosts import is_loopback

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
SCOPE = "openid profile email"
KEPT_SECONDS = 3600.0
LEEWAY_SECONDS = 60
_NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@dataclass(frozen=True, slots=True)
class Person:
    """A user as the provider knows them."""

    issuer: str
    subject: str
    name: str
    full_name: str
    email: str


class Provider:
    """One provider. Its metadata is cached for an hour."""

    def __init__(self, issuer: str, client_id: str, client_secret: str | None, now: Callable[[], float]) -> None:
        parts = urlsplit(issuer)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise InvalidInput(f"oidc_issuer: {issuer!r} is not an address that begins with https://")
        self.issuer, self._client_id, self._secret, self._now = issuer, client_id, client_secret, now
        # no proxy between this machine and itself
        self._http = httpx.Client(timeout=10, trust_env=not is_loopback(parts.hostname or ""))
        self._turns = Turns(num_at_once=4, max_waiting=4)
        """Any client can begin to sign in: a provider that does not answer must not block all threads of the server."""

        self._lock = threading.Lock()
        self._config: Mapping[str, str] = {}
        self._keys: KeySet | None = None
        self._kept_until = 0.0

    def sign_in_url(self, *, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """Where to send the browser."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "scope": SCOPE,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        with self._turns.take():
            endpoint = self._published()["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def person_for(self, code: str, *, redirect_uri: str, nonce: str, verifier: str) -> Person:
        """The user that a code stands for. Raise NotSignedIn when the provider rejects it, or its token
        is not valid."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
            "client_id": self._client_id,
        }
        auth = None if self._secret is None else httpx.BasicAuth(self._client_id, self._secret)
        with self._turns.take():
            answer = self._call("POST", self._published()["token_endpoint"], data=form, auth=auth)
            token = answer.get("id_token")
            if not isinstance(token, str):
                raise NotSignedIn("the provider sent no id_token; ask an admin")
            return self._read(token, nonce)

    def _read(self, token: str, nonce: str) -> Person:
        claims = self._verified(token)
        audience = claims.get("aud")
        is_for_us = audience == self._client_id or (
            isinstance(audience, list)
            and self._client_id in audience
            and (len(audience) == 1 or claims.get("azp") == self._client_id)
        )
        subject = claims.get("sub")
        wrong = {
            "issuer": claims.get("iss") != self.issuer,
            "audience": not is_for_us,
            "nonce": claims.get("nonce") != nonce,
            "subject": not isinstance(subject, str) or not 0 < len(subject) <= 255,
        }
        for field, is_wrong in wrong.items():
            if is_wrong:
                raise NotSignedIn(f"what the provider sent is not for this sign-in (its {field} is not the right one)")
        return Person(
            issuer=self.issuer,
            subject=str(subject),
            name=_text(claims, "preferred_username") or _text(claims, "email").partition("@")[0],
            full_name=_text(claims, "name"),
            email=_text(claims, "email"),
        )

    def _verified(self, token: str) -> Mapping[str, Any]:
        try:
            try:
                decoded = jwt.decode(token, self._key_set(), algorithms=ALGORITHMS)
            except (JoseError, ValueError):  # perhaps with a newer key than those in the cache
                decoded = jwt.decode(token, self._key_set(is_new=True), algorithms=ALGORITHMS)
            rules = jwt.JWTClaimsRegistry(
                now=lambda: int(self._now()), leeway=LEEWAY_SECONDS, exp={"essential": True}, iat={"essential": True}
            )
            rules.validate(decoded.claims)
        except (JoseError, ValueError) as error:
            raise NotSignedIn(f"what the provider sent cannot be trusted: {type(error).__name__}") from error
        return decoded.claims

    def _published(self) -> Mapping[str, str]:
        with self._lock:
            if not self._config or time.monotonic() > self._kept_until:
                found = self._call("GET", f"{self.issuer.rstrip('/')}/.well-known/openid-configuration")
                if found.get("issuer") != self.issuer or not all(isinstance(found.get(name), str) for name in _NEEDED):
                    raise Unavailable(f"{self.issuer} is not the OpenID Connect provider that its metadata describes")
                self._config, self._keys = found, None
                self._kept_until = time.monotonic() + KEPT_SECONDS
            return self._config

    def _key_set(self, *, is_new: bool = False) -> KeySet:
        config = self._published()
        with self._lock:
            if self._keys is None or is_new:
                found = self._call("GET", config["jwks_uri"])
                try:
                    self._keys = KeySet.import_key_set(found)  # type: ignore[arg-type]
                except (JoseError, ValueError, KeyError, TypeError) as error:
                    raise Unavailable(f"the keys of {self.issuer} cannot be read") from error
            return self._keys

    def _call(self, method: str, url: str, **options: Any) -> dict[str, Any]:
        try:
            response = self._http.request(method, url, **options)
            body = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable(
                f"the provider {self.issuer} does not answer ({type(error).__name__}); try again"
            ) from error
        if response.status_code >= 500:
            raise Unavailable(f"the provider {self.issuer} answers {response.status_code}; try again")
        if response.status_code >= 400 or not isinstance(body, dict):
            raise NotSignedIn("the provider rejected this sign-in; start again")
        return body


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    clean = "".join(char for char in value if char.isprintable()) if isinstance(value, str) else ""
    return clean[:200]
