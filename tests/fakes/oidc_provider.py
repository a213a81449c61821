"""A small OpenID Connect provider, run as a process of its own: the outermost edge, which is not ours.

It does the authorization code flow with PKCE for one client and says whatever a test tells it to say, also what no
honest provider would. Standard library and joserfc; `python oidc_provider.py` prints its address.

    PUT /tell   {"claims": {...}, "lie": "..."}    what the next sign-ins say
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "danlu", "the-client-secret"


class Provider(ThreadingHTTPServer):
    key = RSAKey.generate_key(2048, parameters={"kid": "one"})
    other_key = RSAKey.generate_key(2048, parameters={"kid": "one"})
    told: dict[str, Any] = {"claims": {"sub": "1234"}, "lie": ""}
    codes: dict[str, dict[str, str]] = {}

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            issuer = self.server.issuer
            self._json(
                {
                    "issuer": issuer if self.server.told["lie"] != "describes another" else "https://evil.example.org",
                    "authorization_endpoint": f"{issuer}/authorize",
                    "token_endpoint": f"{issuer}/token",
                    "jwks_uri": f"{issuer}/keys",
                }
            )
        elif parts.path == "/keys":
            self._json({"keys": [self.server.key.as_dict(private=False)]})
        elif parts.path == "/authorize":
            self._authorize({name: values[0] for name, values in parse_qs(parts.query).items()})

    def do_PUT(self) -> None:
        self.server.told = json.loads(self._body())
        if self.server.told["lie"] == "new key":
            self.server.key = RSAKey.generate_key(2048, parameters={"kid": "two"})
        self._json({})

    def do_POST(self) -> None:
        form = {name: values[0] for name, values in parse_qs(self._body().decode()).items()}
        asked = self.server.codes.pop(form.get("code", ""), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        is_right = (
            asked is not None
            and self.headers.get("Authorization") == f"Basic {basic}"
            and form.get("redirect_uri") == asked["redirect_uri"]
            and challenge.rstrip(b"=").decode() == asked["code_challenge"]
        )
        if not is_right or asked is None:
            self._json({"error": "invalid_grant"}, status=400)
            return
        self._json({"access_token": "x", "token_type": "Bearer", "id_token": self._token(asked)})

    def _authorize(self, asked: dict[str, str]) -> None:
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        if self.server.told["lie"] == "denies":
            query = {"error": "access_denied", "state": asked["state"]}
        else:
            code = secrets.token_urlsafe()
            self.server.codes[code] = asked
            query = {"code": code, "state": asked["state"]}
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode(query)}")
        self.end_headers()

    def _token(self, asked: dict[str, str]) -> str:
        now, lie = int(time.time()), self.server.told["lie"]
        claims = {
            "iss": self.server.issuer if lie != "issuer" else "https://evil.example.org",
            "aud": CLIENT if lie != "audience" else "another",
            "nonce": asked["nonce"] if lie != "nonce" else "another",
            "iat": now,
            "exp": now + 300 if lie != "expired" else now - 300,
            **self.server.told["claims"],
        }
        if lie == "several audiences":
            claims["aud"] = [CLIENT, "another"]
        if lie == "no signature":
            parts = ({"alg": "none"}, claims)
            return ".".join(base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=").decode() for p in parts) + "."
        key = self.server.other_key if lie == "another key" else self.server.key
        return jwt.encode({"alg": "RS256", "kid": key.kid or "one"}, claims, key)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _json(self, value: object, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def running_provider() -> Iterator[str]:
    """Run it; yields its address."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


if __name__ == "__main__":
    provider = Provider(("127.0.0.1", 0), Handler)
    print(provider.issuer, flush=True)
    provider.serve_forever()
