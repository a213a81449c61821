"""Messages between shim and init over their socket: one JSON object per line; `is` names its type.

shim -> init    {"is": "start", "command": [...], ...}    {"is": "stop", "grace_seconds": 30}
                {"is": "execute", "id": 1, ...}           and three open files
init -> shim    {"is": "started", "at": 1700000000.0}     {"is": "not_started", "errno": 2, "word": "trian.py", ...}
                {"is": "ended", "code": 0, ...}           {"is": "executed", "id": 1, "code": 0}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple, Optional, Union

from danlu.node.codec import Malformed, decode, encode, parse


class Start(NamedTuple):
    """Start the command of the task."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    workdir: str
    spared: tuple[str, ...] = ()


class Stop(NamedTuple):
    """End all processes: SIGTERM now, SIGKILL after the grace period."""

    grace_seconds: float


class Execute(NamedTuple):
    """Start an additional command, with three files sent along."""

    id: int
    command: tuple[str, ...]
    env: Mapping[str, str]
    has_terminal: bool


class Started(NamedTuple):
    at: float


class NotStarted(NamedTuple):
    """The command could not be executed."""

    errno: int
    word: str
    message: str


class Ended(NamedTuple):
    """The command has ended; its children may still run."""

    code: int
    at: float


class Executed(NamedTuple):
    """An additional command has ended, or could not be started."""

    id: int
    code: Optional[int] = None
    error: str = ""


Order = Union[Start, Stop, Execute]
Event = Union[Started, NotStarted, Ended, Executed]

_KINDS: dict[str, type[Union[Order, Event]]] = {
    "start": Start,
    "stop": Stop,
    "execute": Execute,
    "started": Started,
    "not_started": NotStarted,
    "ended": Ended,
    "executed": Executed,
}
_WORDS = {kind: word for word, kind in _KINDS.items()}


def write(message: Union[Order, Event]) -> bytes:
    """Return a message as a line."""
    fields = encode(message)
    assert isinstance(fields, dict)
    return json.dumps({"is": _WORDS[type(message)], **fields}).encode() + b"\n"


def read(line: bytes) -> Union[Order, Event]:
    """Parse a line. Raise Malformed."""
    found = parse(line)
    word = str(found.get("is"))
    if word not in _KINDS:
        raise Malformed(f"is: expected one of {', '.join(_KINDS)}, got {word[:60]!r}")
    return decode(_KINDS[word], found)
