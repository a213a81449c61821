"""Decide how a task ended, from the facts that the shim collected. Pure."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from typing import NamedTuple

from danlu.node.task import TaskLimits

_LITTLE_ROOM_BYTES = 256 * 1024
_FILE_TOO_LARGE = 128 + signal.SIGXFSZ
_OUTSIDE = "the task received SIGTERM from outside Danlu, for example because the machine shut down"


class Facts(NamedTuple):
    """Facts known when the last process of the task has ended."""

    exit_code: int | None = None
    """Of the command; None when it did not run or its end was not seen."""

    did_start: bool = False
    was_stopped: bool = False
    """A stop was requested before the command ended by itself."""

    was_ordered: bool = True
    """The server requested the stop; False: a signal did, as when the machine shuts down."""

    failed_word: str = ""
    """The word of the command that could not be executed."""

    failed_errno: int = 0
    staging: tuple[str, str] | None = None
    """Reason and message when inputs could not be fetched."""

    upload: tuple[str, str] | None = None
    missed_gate: tuple[str, str] | None = None
    """Name and reason of a failed step before the command."""

    exceeded: tuple[str, str] | None = None
    """Reason and message when the task was ended because it exceeded a limit."""

    num_oom_kills: int = 0
    num_refused_forks: int = 0
    limits: TaskLimits = TaskLimits()
    room_bytes: int = 1 << 40
    """Free space on the disk of the task's folder."""

    is_log_full: bool = False
    """The log has reached the maximum file size."""

    folder: str = ""
    last_line: str = ""


class Verdict(NamedTuple):
    state: str
    reason: str
    message: str


def judge(facts: Facts) -> Verdict:
    """Return state, reason and message. A failure of the command takes precedence over a failed upload."""
    verdict = _judge_command(facts)
    if facts.upload is None:
        return verdict
    reason, message = facts.upload
    if verdict.state == "succeeded":
        return Verdict("failed", reason, message)
    return verdict._replace(message="; ".join(part for part in (verdict.message, message) if part))


def _judge_command(facts: Facts) -> Verdict:
    return next(verdict(facts) for applies, verdict in _RULES if applies(facts))


def _oom(facts: Facts) -> str:
    memory_bytes = facts.limits.memory_bytes
    limit = f" of {memory_bytes / 2**20:.0f} MiB" if memory_bytes else ""
    return f"the task used more than its memory{limit}, and the kernel ended one of its processes"


def _processes(facts: Facts) -> str:
    return (
        f"the task reached its limit of {facts.limits.max_processes} processes and threads, and could not start another"
        f"{_and_code(facts)}"
    )


def _file(facts: Facts) -> str:
    limit = f" (max_disk_bytes: {facts.limits.max_disk_bytes})" if facts.limits.max_disk_bytes else ""
    what = "the log" if facts.is_log_full else "a file"
    return f"{what} reached the disk limit of the task{limit}{_and_code(facts)}"


def _not_started(facts: Facts) -> tuple[str, str]:
    if facts.failed_errno in (errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENOEXEC, errno.EISDIR, errno.ELOOP):
        return "command_not_found", f"cannot execute {facts.failed_word!r}: {os.strerror(facts.failed_errno)}"
    return "start_failed", f"cannot execute {facts.failed_word!r}: {os.strerror(facts.failed_errno)}"


def _missed(facts: Facts) -> tuple[str, str]:
    name, reason = facts.missed_gate or ("", "")
    return reason, f"{name} ended with code {facts.exit_code}"


def _and_code(facts: Facts) -> str:
    return "" if facts.exit_code is None else f"; the command ended with code {facts.exit_code}"


def _no_sandbox(facts: Facts) -> str:
    return facts.last_line or "the sandbox ended before the command began"


def _signal_name(facts: Facts) -> str:
    number = (facts.exit_code or 0) - 128
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_Rule = tuple[Callable[[Facts], object], Callable[[Facts], Verdict]]

# the first rule that applies counts
_RULES: tuple[_Rule, ...] = (
    (
        lambda facts: facts.was_stopped and not facts.was_ordered,
        lambda facts: Verdict("failed", "stopped_outside", f"{_OUTSIDE}{_and_code(facts)}"),
    ),
    (lambda facts: facts.was_stopped, lambda _: Verdict("stopped", "", "")),
    (lambda facts: facts.exceeded, lambda facts: Verdict("failed", *(facts.exceeded or ("", "")))),
    (lambda facts: facts.staging, lambda facts: Verdict("failed", *(facts.staging or ("", "")))),
    (lambda facts: facts.exit_code == 0, lambda _: Verdict("succeeded", "", "")),
    (lambda facts: facts.num_oom_kills, lambda facts: Verdict("failed", "out_of_memory", _oom(facts))),
    (lambda facts: facts.num_refused_forks, lambda facts: Verdict("failed", "process_limit", _processes(facts))),
    (
        lambda facts: facts.is_log_full or facts.exit_code == _FILE_TOO_LARGE,
        lambda facts: Verdict("failed", "disk_limit", _file(facts)),
    ),
    (lambda facts: facts.failed_word, lambda facts: Verdict("failed", *_not_started(facts))),
    (lambda facts: not facts.did_start, lambda facts: Verdict("failed", "start_failed", _no_sandbox(facts))),
    (
        lambda facts: facts.room_bytes < _LITTLE_ROOM_BYTES,
        lambda facts: Verdict("failed", "disk_full", f"no room on the disk of {facts.folder}{_and_code(facts)}"),
    ),
    (
        lambda facts: facts.missed_gate,
        lambda facts: Verdict("failed", *_missed(facts)),
    ),
    (
        lambda facts: facts.exit_code is None,
        lambda _: Verdict("failed", "killed_by_signal", "the task was killed from outside (SIGKILL)"),
    ),
    (
        lambda facts: facts.exit_code in (126, 127),
        lambda facts: Verdict("failed", "command_not_found", facts.last_line or f"the code is {facts.exit_code}"),
    ),
    (
        lambda facts: (facts.exit_code or 0) > 128,
        lambda facts: Verdict("failed", "killed_by_signal", f"{_signal_name(facts)} ended the command"),
    ),
    (
        lambda _: True,
        lambda facts: Verdict("failed", "exit_code", f"the command ended with code {facts.exit_code}"),
    ),
)
