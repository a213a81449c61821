"""Kinds of events in the history of a job."""

from __future__ import annotations

from danlu.spec.states import Word


class JobEventKind(Word):
    SUBMITTED = "submitted"
    QUEUED = "queued"
    MAKING_ROOM = "making_room"
    STARTING = "starting"
    RUNNING = "running"
    UNREACHABLE = "unreachable"
    PREEMPTED = "preempted"
    STOP = "stop"
    PAUSE = "pause"
    RESUME = "resume"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"
    RETRY = "retry"
    OUTPUT_INCOMPLETE = "output_incomplete"
    LOGS_REMOVED = "logs_removed"
