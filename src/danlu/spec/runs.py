"""Runs: their states, ids, and where they lie."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from danlu.spec.states import Word

MAX_FOLDER_CHARS = 400
MAX_FOLDER_DEPTH = 20
SYSTEM = "system"
"""The type of the use of the machine. Its steps are seconds, so branches do not hide it."""

_RUN_ID = re.compile(r"run-[a-z2-7]{26}")
_JOURNAL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}")


class RunState(Word):
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    DIED = "died"
    """Its process is gone without a word, or nothing has been heard of it for long."""


class Ended(NamedTuple):
    """How the writer of a journal said that it ended."""

    branch: int
    writer: str
    rank: int
    state: RunState
    at: float
    reason: str = ""


def is_run_id(text: str) -> bool:
    return _RUN_ID.fullmatch(text) is not None


def is_journal_name(text: str) -> bool:
    return _JOURNAL.fullmatch(text) is not None and ".." not in text


def run_end(newest_branch: int, ends: Sequence[Ended]) -> Optional[Ended]:
    """How a run ended: by its newest branch, by a process rather than its companion, by the lowest rank."""
    known = [end for end in ends if end.branch >= newest_branch]
    return min(known, key=lambda end: (-end.branch, end.writer != "process", end.rank), default=None)


def check_folder(path: str) -> str:
    """Return the path without slashes at its ends; empty for the top. Raise ValueError when it cannot be used."""
    parts = [part.strip() for part in path.strip().strip("/").split("/")]
    if parts == [""]:
        return ""
    clean = "/".join(parts)
    if len(clean) > MAX_FOLDER_CHARS or len(parts) > MAX_FOLDER_DEPTH:
        raise ValueError(
            f"{path[:60]!r}... is too long; {MAX_FOLDER_CHARS} characters and {MAX_FOLDER_DEPTH} levels fit"
        )
    for part in parts:
        if part in ("", ".", "..") or any(ord(char) < 32 for char in part):
            raise ValueError(f"{path!r} is not a folder of runs; words with / between them would be right")
    return clean


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, with dotted keys: {"optimizer": {"lr": 1}} -> {"optimizer.lr": 1}."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
