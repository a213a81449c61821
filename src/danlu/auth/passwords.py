"""Passwords: hashed slowly with argon2id, a few at a time."""

from __future__ import annotations

import secrets
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from danlu.auth.turns import Turns


class Passwords:
    """Hashes and checks. Both take a core for a moment: `hash` waits for a turn, a caller of `check` holds one."""

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
        """Take the same time whether there is a password or not."""
        nobodys = self._nobodys  # made with the first check, whoever that is of
        try:
            self._hasher.verify(stored or nobodys, password)
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None
