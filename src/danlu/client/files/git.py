"""Record git's state of an uploaded code folder (`.git` is not uploaded), and fetch repositories as code."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from danlu.errors import InvalidSpec
from danlu.spec.code import MAX_DIFF_CHARS

_SECONDS = 10.0
_FETCH_SECONDS = 600.0
_MAX_BRANCH_CHARS = 100
_CUT = "\n... the rest is left out\n"


def git_state(folder: Path) -> dict[str, str]:
    """Return `git`, such as `9f1c... on main, with changes`, and `diff`; empty outside a repository."""
    commit = _git(folder, "rev-parse", "HEAD").strip()
    if not commit:
        return {}
    branch = (_git(folder, "rev-parse", "--abbrev-ref", "HEAD").strip() or "?")[:_MAX_BRANCH_CHARS]
    if not _git(folder, "status", "--porcelain", "--", ".").strip():
        return {"git": f"{commit} on {branch}"}
    return {"git": f"{commit} on {branch}, with changes", **_diff(folder)}


@contextmanager
def fetched_repository(url: str, ref: Optional[str]) -> Iterator[tuple[Path, str]]:
    """Yield the files of a repository in a temporary folder, and what to record about them. Raise InvalidSpec."""
    with tempfile.TemporaryDirectory(prefix="danlu-git-") as made:
        folder = Path(made)
        _fetch(folder, url, ref or "HEAD")
        commit = _git(folder, "rev-parse", "HEAD").strip()
        yield folder, f"{commit} on {ref or 'the main branch'} of {_without_password(url)}"[:300]


def _fetch(folder: Path, url: str, ref: str) -> None:
    """Fetch one commit. If the server does not serve single commits by digest, fetch everything."""
    _run(folder, "init", "--quiet")
    problem = _run(folder, "fetch", "--quiet", "--depth", "1", "--no-tags", "--", url, ref)
    if not problem:
        problem = _run(folder, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    elif not _run(folder, "fetch", "--quiet", "--", url, "+refs/*:refs/fetched/*"):
        problem = _run(folder, "checkout", "--quiet", "--detach", ref)
    if problem:
        told = (
            f"{_without_password(url)!r} at {ref!r} cannot be fetched: {problem.replace(url, _without_password(url))}"
        )
        raise InvalidSpec(f"invalid job: code.git: {told}", fields={"code.git": told})


def _diff(folder: Path) -> dict[str, str]:
    """Changes of tracked files, and the names of untracked ones."""
    text = _git(folder, "diff", "HEAD", "--no-color", "--no-ext-diff", "--no-textconv", "--relative", "--", ".")
    new = _git(folder, "ls-files", "--others", "--exclude-standard", "--", ".").splitlines()
    text += "".join(f"new file, not in git: {name}\n" for name in new)
    clean = "".join(char for char in text if char not in "\0" and not "\ud800" <= char <= "\udfff")
    if len(clean) > MAX_DIFF_CHARS:
        clean = clean[: MAX_DIFF_CHARS - len(_CUT)] + _CUT
    return {"diff": clean} if clean else {}


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or "@" not in rest.partition("/")[0]:
        return url
    return f"{scheme}://{rest.partition('@')[2]}"


def _run(folder: Path, *words: str) -> str:
    """Run git; return its error in one line, or ""."""
    try:
        done = _start(folder, *words, seconds=_FETCH_SECONDS)
    except FileNotFoundError:
        return "git is not installed here"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}: {error}"
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return "" if done.returncode == 0 else (lines[-1][:300] if lines else f"git ended with {done.returncode}")


def _git(folder: Path, *words: str) -> str:
    """Run git; return its output, or "" when git is missing, slow or fails."""
    try:
        done = _start(folder, *words, seconds=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def _start(folder: Path, *words: str, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run git without executing programs that a repository configures, and without password prompts."""
    safe = ("core.fsmonitor=false", "core.hooksPath=/dev/null", "protocol.ext.allow=never")
    options = [word for setting in safe for word in ("-c", setting)]
    command = ["git", "--no-optional-locks", *options, "-C", str(folder), *words]
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False, env=env)
