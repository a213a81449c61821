"""Who may enter a job over SSH: what the gateway asks."""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from danlu.gateway.tasks import Task

_USER = re.compile(r"(train-[0-9]{1,20})(?:\.([0-9]{1,6}))?")


class Wish(NamedTuple):
    """The user name of an SSH client: a job, and which of its tasks."""

    job_id: str
    rank: int


class Guest(NamedTuple):
    """Somebody who was let in."""

    user_id: int
    fingerprint: str
    engine: str
    task: Task


class SshGate(Protocol):
    """Decides, with the database. Called in threads."""

    def enter(self, wish: Wish, fingerprint: str) -> Guest | None:
        """Who has this key, if they may enter the task. Asked before they have shown that the key is theirs."""
        ...

    def note(self, guest: Guest) -> None:
        """Somebody has shown that the key is theirs: note that they enter."""
        ...

    def may_stay(self, guest: Guest) -> bool:
        """Whether somebody may still be there."""
        ...


def parse_wish(user: str) -> Wish | None:
    """`train-1` or `train-1.3`; None for every other name."""
    found = _USER.fullmatch(user)
    return None if found is None else Wish(found[1], int(found[2] or 0))
