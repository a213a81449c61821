"""States of jobs, attempts and tasks, with tables of allowed transitions."""

from __future__ import annotations

from enum import Enum


class Word(str, Enum):
    """An enum whose members print as their value (StrEnum needs Python 3.11)."""

    def __str__(self) -> str:
        return str(self.value)


class JobState(Word):
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


class Desired(Word):
    """What the user wants; the scheduler works towards it."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


class AttemptState(Word):
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


class TaskState(Word):
    STARTING = "starting"
    STAGING = "staging"
    RUNNING = "running"
    UPLOADING = "uploading"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


_ENDS = {JobState.SUCCEEDED, JobState.FAILED, JobState.STOPPED}

JOB_NEXT: dict[JobState, set[JobState]] = {
    JobState.QUEUED: {JobState.STARTING, JobState.PAUSED, JobState.STOPPED, JobState.FAILED},
    JobState.STARTING: {JobState.RUNNING, JobState.STOPPING, JobState.QUEUED} | _ENDS,
    JobState.RUNNING: {JobState.STOPPING, JobState.QUEUED} | _ENDS,
    JobState.STOPPING: {JobState.QUEUED, JobState.PAUSED} | _ENDS,
    JobState.PAUSED: {JobState.QUEUED, JobState.STOPPED},
    # an ended job may be restarted: same id, new attempt
    JobState.SUCCEEDED: {JobState.QUEUED},
    JobState.FAILED: {JobState.QUEUED},
    JobState.STOPPED: {JobState.QUEUED},
}

ATTEMPT_NEXT: dict[AttemptState, set[AttemptState]] = {
    AttemptState.STARTING: {
        AttemptState.RUNNING,
        AttemptState.STOPPING,
        AttemptState.SUCCEEDED,
        AttemptState.FAILED,
        AttemptState.STOPPED,
        AttemptState.LOST,
    },
    AttemptState.RUNNING: {
        AttemptState.STOPPING,
        AttemptState.SUCCEEDED,
        AttemptState.FAILED,
        AttemptState.LOST,
    },
    AttemptState.STOPPING: {
        AttemptState.STOPPED,
        AttemptState.SUCCEEDED,
        AttemptState.FAILED,
        AttemptState.LOST,
    },
}

TASK_ENDS = {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.STOPPED, TaskState.LOST}


def is_over(state: JobState) -> bool:
    """Whether the job has ended; only a restart changes that."""
    return state in _ENDS


def is_live(state: JobState) -> bool:
    """Whether the job has an attempt that holds devices."""
    return state in {JobState.STARTING, JobState.RUNNING, JobState.STOPPING}


def is_final(state: AttemptState) -> bool:
    """Whether the attempt has ended, which is final."""
    return state not in ATTEMPT_NEXT


def task_ended(state: TaskState) -> bool:
    return state in TASK_ENDS
