"""Keys, tokens and job secrets: how they are made, hashed and sealed.

API key     dk-<id>.<secret>      stored as sha256 of the secret: it is long and random, so a fast digest is enough
            one that signs        its secret is derived from the key file, so that signatures can be checked
job token   jt-<secret>           stored as sha256; lives as long as its attempt
password                          stored as argon2id (see `passwords`)
job secret                        stored sealed (Fernet) with a key file beside the data
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from danlu.errors import Unavailable

KEY_PREFIX = "dk-"
TOKEN_PREFIX = "jt-"


@dataclass(frozen=True, slots=True)
class NewKey:
    id: str
    digest: str
    text: str
    """The whole key; shown once, stored nowhere."""


def make_api_key(sealer: Sealer | None = None) -> NewKey:
    """Create a key; with a sealer, one that signs requests."""
    key_id = secrets.token_hex(8)
    secret = secrets.token_urlsafe(32) if sealer is None else sealer.signing_secret(key_id)
    return NewKey(key_id, digest(secret), f"{KEY_PREFIX}{key_id}.{secret}")


def split_api_key(text: str) -> tuple[str, str] | None:
    """Return (id, secret), or None when it is no API key."""
    key_id, dot, secret = text[len(KEY_PREFIX) :].partition(".")
    return (key_id, secret) if text.startswith(KEY_PREFIX) and dot and secret else None


def make_token(prefix: str = "") -> str:
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())


class Sealer:
    """Seals job secrets with a key file beside the data, readable only by the server's user."""

    def __init__(self, key_file: Path) -> None:
        self._key = _load_or_make_key(key_file)
        self._fernet = Fernet(self._key)
        self._file = key_file

    def token(self, job_id: str, attempt: int) -> str:
        """The token of an attempt: always the same, and computable only with the key."""
        mac = hmac.new(self._key, f"attempt:{job_id}:{attempt}".encode(), "sha256")
        return TOKEN_PREFIX + mac.hexdigest()

    def signing_secret(self, key_id: str) -> str:
        """The secret of an API key that signs: always the same for its id, and stored nowhere."""
        return hmac.new(self._key, f"signing:{key_id}".encode(), "sha256").hexdigest()

    @property
    def fingerprint(self) -> str:
        """Identifies the key without revealing it."""
        return hmac.new(self._key, b"fingerprint", "sha256").hexdigest()[:16]

    def seal(self, values: Mapping[str, str]) -> bytes:
        return self._fernet.encrypt(json.dumps(dict(values)).encode())

    def open(self, sealed: bytes) -> dict[str, str]:
        try:
            return dict(json.loads(self._fernet.decrypt(sealed)))
        except InvalidToken as error:
            raise Unavailable(f"{self._file} is not the key that the job's secrets were sealed with") from error


def _load_or_make_key(path: Path) -> bytes:
    """Create the key file atomically: a partial key would keep the server from ever starting again."""
    if path.exists():
        return path.read_bytes()
    partial = path.with_name(f".partial.{os.getpid()}.{path.name}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(Fernet.generate_key())
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):  # another process created it first; use that key
            os.link(partial, path)
    except OSError as error:
        raise Unavailable(f"the key file {path} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return path.read_bytes()
