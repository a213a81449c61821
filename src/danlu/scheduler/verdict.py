"""Derive the state of an attempt from its tasks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from danlu.engines.base import Observation
from danlu.spec.job import JobSpec
from danlu.spec.messages.catalogue import say
from danlu.spec.reasons import CATALOGUE, Reason, reason
from danlu.spec.roles import Rule
from danlu.spec.states import AttemptState, TaskState, task_ended

MAX_BACKOFF_SECONDS = 3600.0
PREEMPTED = "preempted"
_SIGNALS = {6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM", 4: "SIGILL", 7: "SIGBUS", 8: "SIGFPE"}
_FAILED = {TaskState.FAILED, TaskState.LOST}
_STOP_CODES = {"stopped_by_user", "idle_limit", "paused", PREEMPTED}


@dataclass(frozen=True, slots=True)
class Seen:
    """A task's rank and what the engine observed."""

    rank: int
    now: Observation
    role: str = ""
    """Set when the job has several roles; shown in messages."""

    @property
    def name(self) -> str:
        return f"rank {self.rank} ({self.role})" if self.role else f"rank {self.rank}"


@dataclass(frozen=True, slots=True)
class Failure:
    """The task that failed first, and how."""

    rank: int
    state: TaskState
    why: Reason


def is_met(tasks: Sequence[Seen], rule: Rule) -> bool:
    """Whether the tasks that decide about success have succeeded."""
    well = {task.rank for task in tasks if task.now.state is TaskState.SUCCEEDED}
    return rule.ranks <= well if rule.needs_all else bool(rule.ranks & well)


def first_failure(tasks: Sequence[Seen], rule: Rule | None = None) -> Failure | None:
    """The first failure; later ones are its consequences.

    Without a rule every task counts. With a rule, failures of other tasks count only while a deciding task runs:
    parameter servers often fail when their workers exit.
    """
    failed = [task for task in tasks if task.now.state in _FAILED]
    if rule is not None:
        failed = _that_count(failed, tasks, rule)
    if not failed:
        return None
    first = min(failed, key=lambda task: (task.now.ended_at or float("inf"), task.rank))
    return Failure(first.rank, first.now.state, explain(first))


def progress(tasks: Sequence[Seen]) -> AttemptState:
    """RUNNING once the command of every task has started."""
    begun = all(
        task.now.state in {TaskState.RUNNING, TaskState.UPLOADING} or task_ended(task.now.state) for task in tasks
    )
    return AttemptState.RUNNING if begun else AttemptState.STARTING


def end_of(tasks: Sequence[Seen], stop_cause: Reason | None, rule: Rule | None = None) -> tuple[AttemptState, Reason]:
    """How an attempt ended whose tasks have all ended. `stop_cause`: why it was told to stop, if it was."""
    if stop_cause is not None and stop_cause.code == PREEMPTED:
        # a job that completed before it received SIGTERM has succeeded
        is_done = all(task.now.state is TaskState.SUCCEEDED for task in tasks) or (
            rule is not None and is_met(tasks, rule)
        )
        return (AttemptState.SUCCEEDED, reason("done")) if is_done else (AttemptState.STOPPED, stop_cause)
    if stop_cause is not None:
        return _end_of_stopped(stop_cause)
    if rule is not None and is_met(tasks, rule):
        every = all(task.now.exit_code == 0 for task in tasks)
        return AttemptState.SUCCEEDED, reason("done", "" if every else finished(rule))
    failure = first_failure(tasks, rule)
    if failure is not None:
        return (AttemptState.LOST if failure.state is TaskState.LOST else AttemptState.FAILED), failure.why
    stopped = [task.rank for task in tasks if task.now.state is TaskState.STOPPED]
    if stopped:
        return AttemptState.FAILED, reason("stopped_outside", say("terminated_outside", rank=stopped[0]))
    return AttemptState.SUCCEEDED, reason("done")


def _end_of_stopped(cause: Reason) -> tuple[AttemptState, Reason]:
    if cause.code == "finishing":
        return AttemptState.SUCCEEDED, reason("done", cause.message)
    if cause.code in _STOP_CODES:
        return AttemptState.STOPPED, cause
    return (AttemptState.LOST if cause.code == "lost" else AttemptState.FAILED), cause


def finished(rule: Rule) -> str:
    """Message for a job whose success rule is met."""
    who = "one task" if not rule.needs_all else rule.name
    return say("rank_completes", who=who)


def explain(task: Seen) -> Reason:
    """Why a task failed; the message names its rank."""
    now, rank = task.now, task.name
    if now.reason in CATALOGUE:
        told = now.message or CATALOGUE[now.reason].cause
        return reason(now.reason, f"{rank}: {told}")
    if now.state is TaskState.LOST:
        return reason("lost", f"{rank}: {now.message or CATALOGUE['lost'].cause}")
    code = now.exit_code
    if code is None:
        return reason("exit_code", say("no_exit_code", rank=rank))
    if code > 128 and code - 128 in _SIGNALS:
        return reason("killed_by_signal", say("killed", rank=rank, signal=_SIGNALS[code - 128]))
    return reason("exit_code", say("exit_code", rank=rank, exit_code=code))


def retry_after(spec: JobSpec, why: Reason, *, exit_code: int | None, num_retries: int) -> float | None:
    """Seconds until the job is retried; None when it is not."""
    policy = spec.retry
    if num_retries >= policy.max:
        return None
    codes = {why.code, f"exit:{exit_code}"}
    covered = codes & set(policy.on) if policy.on else CATALOGUE[why.code].is_retried
    return min(policy.backoff * 2.0**num_retries, MAX_BACKOFF_SECONDS) if covered else None


def _that_count(failed: list[Seen], tasks: Sequence[Seen], rule: Rule) -> list[Seen]:
    if is_met(tasks, rule):
        return []
    if not rule.needs_all:
        return failed if all(task_ended(task.now.state) for task in tasks) else []
    over = {task.rank for task in tasks if task.now.ended_at is not None or task_ended(task.now.state)}
    deciding = [task for task in failed if task.rank in rule.ranks]
    is_undecided = rule.ranks <= over and not deciding  # until their output is uploaded
    return deciding if is_undecided else failed
