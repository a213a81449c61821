"""Who may enter a job over SSH: the gate that the SSH server asks."""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from danlu.gateway.tasks import Task

_USER = re.compile(r"(train-[0-9]{1,20})(?:\.([0-9]{1,6}))?")


class Wish(NamedTuple):
    """The user name of an SSH client: a job and one of its tasks."""

    job_id: str
    rank: int


class Guest(NamedTuple):
    """A user who may enter a task."""

    user_id: int
    fingerprint: str
    engine: str
    task: Task


class SshGate(Protocol):
    """Decides, with the database. Called in threads."""

    def enter(self, wish: Wish, fingerprint: str) -> Guest | None:
        """The user with this key, if they may enter the task. Called before the client has proved that it owns it."""
        ...

    def note(self, guest: Guest) -> None:
        """Record that a user enters, after their client has proved that it owns the key."""
        ...

    def may_stay(self, guest: Guest) -> bool:
        """Whether the user may still use the task."""
        ...


def parse_wish(user: str) -> Wish | None:
    """`train-1` or `train-1.3`; None for every other name."""
    found = _USER.fullmatch(user)
    return None if found is None else Wish(found[1], int(found[2] or 0))
