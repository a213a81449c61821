"""Runs: states, ids and folders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from danlu.spec.states import Word

MAX_FOLDER_CHARS = 400
MAX_FOLDER_DEPTH = 20
SYSTEM = "system"
"""Metric type of machine usage. Its steps are seconds, so branches do not hide it."""

RUN_ID = r"^run-[a-z2-7]{26}$"
_RUN_ID = re.compile(RUN_ID)
RUN_ID_BEGINS = re.compile(r"run-[a-z2-7]{1,25}")
_JOURNAL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}")


class RunState(Word):
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    DIED = "died"
    """Its process ended without finishing the run, or nothing was received for a long time."""


class Ended(NamedTuple):
    """How a journal ended, as its writer recorded it."""

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
    """The end of a run: that of its newest branch, of the process rather than its companion, of the lowest rank."""
    known = [end for end in ends if end.branch >= newest_branch]
    return min(known, key=lambda end: (-end.branch, end.writer != "process", end.rank), default=None)


def check_folder(path: str) -> str:
    """Return the path without outer slashes; empty for the top. Raise ValueError for an invalid one."""
    parts = [part.strip() for part in path.strip().strip("/").split("/")]
    if parts == [""]:
        return ""
    clean = "/".join(parts)
    if len(clean) > MAX_FOLDER_CHARS or len(parts) > MAX_FOLDER_DEPTH:
        raise ValueError(
            f"expected at most {MAX_FOLDER_CHARS} characters and {MAX_FOLDER_DEPTH} levels, got {path[:60]!r}..."
        )
    for part in parts:
        if part in ("", ".", "..") or any(ord(char) < 32 for char in part):
            raise ValueError(f"expected a folder such as vision/baseline, got {path!r}")
    return clean


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested mappings to dotted keys: {"optimizer": {"lr": 1}} -> {"optimizer.lr": 1}."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat
