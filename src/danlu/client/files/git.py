"""What git knows about a folder that is uploaded: `.git` stays behind, so it is noted."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Optional

_SECONDS = 10.0
_MAX_BRANCH_CHARS = 100


def git_state(folder: Path) -> Optional[str]:
    """Commit, branch, and whether files differ, such as `9f1c... on main, with changes`; None outside of git."""
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return None
    branch = (_git(folder, "rev-parse", "--abbrev-ref", "HEAD") or "?")[:_MAX_BRANCH_CHARS]
    is_dirty = bool(_git(folder, "status", "--porcelain", "--", "."))
    return f"{commit} on {branch}{', with changes' if is_dirty else ''}"


def _git(folder: Path, *words: str) -> str:
    """What it prints; nothing when it is not there, takes long or fails. No program that a repository names is run."""
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
