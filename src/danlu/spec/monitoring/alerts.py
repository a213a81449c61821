"""Alerts: problems of a running job or of the platform before anything has failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Union

from danlu.spec.messages.catalogue import say
from danlu.spec.states import Word
from danlu.spec.units import show_duration, show_size


class AlertKind(Word):
    DEVICE_IDLE = "device_idle"
    MEMORY_HIGH = "memory_high"
    SILENT = "silent"
    ENDS_IDLE = "ends_idle"
    LOSS_NOT_FINITE = "loss_not_finite"
    DISK_FULL = "disk_full_soon"


class AlertEntry(NamedTuple):
    cause: str
    remedy: str


ALERTS: dict[AlertKind, AlertEntry] = {
    AlertKind.DEVICE_IDLE: AlertEntry(
        "The job holds devices, and they have done nothing for a while.",
        "Stop the job if it hangs or is not needed; its log shows where it waits.",
    ),
    AlertKind.MEMORY_HIGH: AlertEntry(
        "A task is close to its memory limit; beyond it the task is killed.",
        "Reduce the batch size or the number of data workers, or request more `memory`.",
    ),
    AlertKind.SILENT: AlertEntry(
        "No task of the job has written to its log, and no metric has arrived, for a while.",
        "Open a shell in the named rank and look where it waits (`py-spy dump`); stop the job if it has hung.",
    ),
    AlertKind.ENDS_IDLE: AlertEntry(
        "The job is idle and will soon be stopped because of its `idle_limit`.",
        "Open its notebook, a shell or an SSH session if you still need it; save what you want to keep.",
    ),
    AlertKind.LOSS_NOT_FINITE: AlertEntry(
        "The last value of a loss is not a number, or infinite: training does not recover from that by itself.",
        "Stop the job; continue from an older checkpoint, with a lower learning rate, clipping or loss scaling.",
    ),
    AlertKind.DISK_FULL: AlertEntry(
        "A disk of the server is nearly full; when it is full, jobs fail and nothing can be stored.",
        "Delete old jobs, runs and files (`danlu admin clean` shows what can be deleted), or add disk space.",
    ),
}

Detail = Union[str, int, float, None]
Details = Mapping[str, Detail]


def alert_message(kind: AlertKind, details: Details) -> str:
    """The message of an alert in English. The console builds its own from the details, in the user's language."""
    return say(f"alert_{kind}", **dict(_shown(name, value) for name, value in details.items()))


def _shown(name: str, value: Detail) -> tuple[str, str]:
    """A detail as the parameter of a message."""
    if isinstance(value, (int, float)) and name.endswith("_seconds"):
        return f"time_{name[: -len('_seconds')]}", show_duration(float(value))
    if isinstance(value, (int, float)) and name.endswith("_bytes"):
        return name, show_size(int(value))
    return name, str(value)
