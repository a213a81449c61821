"""From what is true of the tasks to what is true of the attempt. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from danlu.engines.base import Observation
from danlu.spec.job import JobSpec
from danlu.spec.reasons import CATALOGUE, Reason, reason
from danlu.spec.states import AttemptState, TaskState, task_ended

MAX_BACKOFF_SECONDS = 3600.0
PREEMPTED = "preempted"
_SIGNALS = {6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM", 4: "SIGILL", 7: "SIGBUS", 8: "SIGFPE"}
_FAILED = {TaskState.FAILED, TaskState.LOST}
_STOP_CODES = {"stopped_by_user", "paused", PREEMPTED}


@dataclass(frozen=True, slots=True)
class Seen:
    """A task's rank and what is true of it."""

    rank: int
    now: Observation


@dataclass(frozen=True, slots=True)
class Failure:
    """The task that failed first, and how."""

    rank: int
    state: TaskState
    why: Reason


def first_failure(tasks: Sequence[Seen]) -> Failure | None:
    """Return the failure that came first; the others are its consequences."""
    failed = [task for task in tasks if task.now.state in _FAILED]
    if not failed:
        return None
    first = min(failed, key=lambda task: (task.now.ended_at or float("inf"), task.rank))
    return Failure(first.rank, first.now.state, explain(first))


def progress(tasks: Sequence[Seen]) -> AttemptState:
    """Running once every task's command has begun."""
    begun = all(
        task.now.state in {TaskState.RUNNING, TaskState.UPLOADING} or task_ended(task.now.state) for task in tasks
    )
    return AttemptState.RUNNING if begun else AttemptState.STARTING


def end_of(tasks: Sequence[Seen], stop_cause: Reason | None) -> tuple[AttemptState, Reason]:
    """How an attempt ended whose tasks have all ended. `stop_cause`: why it was told to stop, if it was."""
    if stop_cause is not None and stop_cause.code == PREEMPTED:
        # it had done its work before it heard; whatever else it did on the way out is not its failure
        is_done = all(task.now.state is TaskState.SUCCEEDED for task in tasks)
        return (AttemptState.SUCCEEDED, reason("done")) if is_done else (AttemptState.STOPPED, stop_cause)
    if stop_cause is not None and stop_cause.code in _STOP_CODES:
        return AttemptState.STOPPED, stop_cause
    if stop_cause is not None:
        state = AttemptState.LOST if stop_cause.code == "lost" else AttemptState.FAILED
        return state, stop_cause
    failure = first_failure(tasks)
    if failure is not None:
        return (AttemptState.LOST if failure.state is TaskState.LOST else AttemptState.FAILED), failure.why
    stopped = [task.rank for task in tasks if task.now.state is TaskState.STOPPED]
    if stopped:
        return AttemptState.FAILED, reason("stopped_outside", f"rank {stopped[0]} was told to end, and not by Danlu")
    return AttemptState.SUCCEEDED, reason("done")


def explain(task: Seen) -> Reason:
    """Why a task failed, in a sentence that names its rank."""
    now, rank = task.now, f"rank {task.rank}"
    if now.reason in CATALOGUE:
        told = now.message or CATALOGUE[now.reason].cause
        return reason(now.reason, f"{rank}: {told}")
    if now.state is TaskState.LOST:
        return reason("lost", f"{rank}: {now.message or CATALOGUE['lost'].cause}")
    code = now.exit_code
    if code is None:
        return reason("exit_code", f"{rank} ended without an exit code")
    if code > 128 and code - 128 in _SIGNALS:
        return reason("killed_by_signal", f"{rank} was ended by {_SIGNALS[code - 128]}")
    return reason("exit_code", f"{rank} ended with code {code}")


def retry_after(spec: JobSpec, why: Reason, *, exit_code: int | None, num_retries: int) -> float | None:
    """Seconds until the job is tried again; None when it is not."""
    policy = spec.retry
    if num_retries >= policy.max:
        return None
    codes = {why.code, f"exit:{exit_code}"}
    covered = codes & set(policy.on) if policy.on else CATALOGUE[why.code].is_retried
    return min(policy.backoff * 2.0**num_retries, MAX_BACKOFF_SECONDS) if covered else None
