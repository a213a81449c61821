"""Capture the environment of a run. The companion does the slow parts (packages, git)."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from danlu.track.processes import this_process

MAX_DIFF_BYTES = 256 << 10
MAX_RECORD_BYTES = 512 << 10
"""Of the diff as JSON: a journal frame holds 1 MiB, including the packages."""

MAX_PACKAGES = 1000
GIT_SECONDS = 20.0


def environment() -> dict[str, Any]:
    """Capture what is cheap: command, folder, machine, Python."""
    process = this_process()
    return {
        "command": [word[:2000] for word in [*_interpreter(), *sys.argv][:100]],
        "cwd": _cwd(),
        "host": process.host,
        "boot_id": process.boot_id,
        "pid_space": process.pid_space,
        "pid": process.pid,
        "pid_started": process.started,
        "user": os.environ.get("USER") or os.environ.get("LOGNAME") or "",
        "os": platform.platform(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "executable": sys.executable,
    }


def packages(search: Iterable[str]) -> dict[str, str]:
    """Return installed packages and their versions, found in these folders."""
    from importlib.metadata import distributions

    found: dict[str, str] = {}
    for one in distributions(path=[place for place in search if place]):
        try:
            name = one.metadata["Name"]
            if name and len(found) < MAX_PACKAGES:
                found.setdefault(str(name), str(one.version))
        except Exception:  # skip broken packages
            continue
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def git(folder: str) -> dict[str, Any]:
    """Return commit, branch and diff; empty outside a repository."""
    commit = _git(folder, "rev-parse", "HEAD").strip()
    if not commit:
        return {}
    diff = _git(folder, "diff", "HEAD", "--no-color", "--no-ext-diff")
    shown = _fitting(diff)
    return {
        "commit": commit,
        "branch": _git(folder, "rev-parse", "--abbrev-ref", "HEAD").strip(),
        "remote": without_password(_git(folder, "config", "--get", "remote.origin.url").strip()),
        "root": _git(folder, "rev-parse", "--show-toplevel").strip(),
        "is_dirty": bool(_git(folder, "status", "--porcelain", "--untracked-files=no").strip()),
        "diff": shown,
        "is_diff_cut": len(shown) < len(diff),
    }


def _fitting(text: str) -> str:
    """Truncate the text to the record's limit: as JSON, a non-ASCII character needs six bytes."""
    shown = text[:MAX_DIFF_BYTES]
    while len(json.dumps(shown)) > MAX_RECORD_BYTES:
        shown = shown[: len(shown) // 2]
    return shown


def without_password(url: str) -> str:
    """Remove user and password or token from a URL."""
    return re.sub(r"^([a-z+]+://)[^/@]*@", r"\1", url)


def job(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the Danlu job of this process; nulls outside a job."""
    attempt = environ.get("DANLU_ATTEMPT", "")
    return {"job": environ.get("DANLU_JOB_ID") or None, "attempt": int(attempt) if attempt.isdecimal() else None}


def _git(folder: str, *words: str) -> str:
    command = ["git", "-c", "core.fsmonitor=false", "-C", folder, *words]
    settings = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, env=settings, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def _interpreter() -> list[str]:
    return [os.path.basename(sys.executable)] if sys.executable else []


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
