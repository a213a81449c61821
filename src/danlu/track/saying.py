"""Alerts, axes, labels and notes of a run."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Optional

from danlu import journal
from danlu.track.folders import RUN_ID
from danlu.track.media.calls import LogsMedia
from danlu.track.values import MAX_NAME, MAX_TEXT, as_labels, brief, is_a, text_of, to_number, to_step
from danlu.track.warn import warn_once

LEVELS = ("info", "warning", "error")
WAIT_SECONDS = 60.0
"""Minimum interval between alerts of the same title, for loops that alert at every step."""

MAX_TITLES = 1000


class SaysMore(LogsMedia):
    """Methods for alerts, labels and notes; `Run` records them."""

    _description: str
    _labels: list[str]
    _alerted: dict[str, float]

    @abstractmethod
    def _set(self, field: str, new: Mapping[str, Any], gone: list[str]) -> None: ...

    @abstractmethod
    def _add(self, frame: bytes) -> None: ...

    def alert(self, title: str, text: str = "", level: str = "info", *, wait_seconds: float = WAIT_SECONDS) -> None:
        """Alert the owner in the console and, if configured, by webhook and e-mail. `level`: info, warning or error.

        An alert of the same title within `wait_seconds` is dropped. The server sends 20 alerts of a run per hour; the
        others are only shown on the run's page.
        """
        word = str.__str__(level) if issubclass(type(level), str) else ""
        if word not in LEVELS:
            warn_once("alert level", f"alert(): level is one of {', '.join(LEVELS)}, not {brief(level)}; taken as info")
            word = "info"
        now, called = time.monotonic(), text_of(title, MAX_NAME).strip() or "alert"
        wait = to_number(wait_seconds)
        if called in self._alerted and now - self._alerted[called] < (WAIT_SECONDS if wait is None else wait):
            return
        if len(self._alerted) >= MAX_TITLES:
            self._alerted.clear()
        self._alerted[called] = now
        self.add_media("alert", called, step=None, type="alert", value=(text_of(text, MAX_TEXT), word))

    def define_axis(self, metric: str, axis: str) -> None:
        """Set the X axis of a metric to another metric: `define_axis("val/*", "train/samples")`.

        A value is shown at the last value of `axis` up to its step. A trailing `*` matches any suffix.
        """
        names = [text_of(name, MAX_NAME + 1).strip() for name in (metric, axis)]
        if not all(names) or any(len(name) > MAX_NAME for name in names) or "*" in names[1]:
            warn_once("axis", f"define_axis({brief(metric)}, {brief(axis)}): expected the names of two metrics")
            return
        self._set("axes", {_with_type(names[0]): _with_type(names[1])}, [])

    @property
    def description(self) -> str:
        """Notes about the run, as Markdown, shown at the top of its page."""
        return self._description

    @description.setter
    def description(self, text: str) -> None:
        self._description = "" if text is None else text_of(text, MAX_TEXT)
        self._add(journal.encode_value("description", self._description, time=time.time()))

    @property
    def labels(self) -> list[str]:
        return list(self._labels)

    @labels.setter
    def labels(self, labels: list[str]) -> None:
        found = as_labels(labels)
        if found is None:
            return
        self._labels = found
        self._add(journal.encode_value("labels", self._labels, time=time.time()))

    def total_steps(self, number: int) -> None:
        """Set the step at which training will end; the server shows progress."""
        steps = to_step(number)
        if steps is None:
            warn_once("total_steps", f"total_steps({brief(number)}): it is a whole number")
            return
        self._add(journal.encode_value("total_steps", steps, time=time.time()))


def parent_id(parent: Any) -> Optional[str]:
    """Return the id of the parent run, given as a run or its id."""
    if parent is None:
        return None
    try:
        found = text_of(parent if is_a(parent, str) else parent.id, MAX_NAME)
    except Exception:  # no run; a foreign object may raise anything
        found = ""
    if found == "run-silent":
        return None
    if not RUN_ID.fullmatch(found):
        warn_once("parent", f"start(): parent is a run or its id, not {brief(parent)}; it is left out")
        return None
    return found


def _with_type(name: str) -> str:
    return name if "/" in name or name == "*" else f"train/{name}"
