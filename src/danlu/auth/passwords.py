"""Passwords: hashed slowly with argon2id, a few at a time."""

from __future__ import annotations

import secrets
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from danlu.auth.turns import Turns


class Passwords:
    """Hashes and verifies passwords. Both keep a core busy: `hash` takes a turn itself, callers of `check` must hold
    one."""

    def __init__(self, hasher: PasswordHasher | None = None, turns: Turns | None = None) -> None:
        self.turns = turns or Turns()
        self._hasher = hasher or PasswordHasher()

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash(secrets.token_urlsafe())

    def hash(self, password: str) -> str:
        with self.turns.take():
            return self._hasher.hash(password)

    def check(self, stored: str | None, password: str) -> bool:
        """Verify a password. It takes as long when none is stored, so that timing does not reveal which users exist."""
        nobodys = self._nobodys  # a hash that no password matches, computed on first use
        try:
            self._hasher.verify(stored or nobodys, password)
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None
