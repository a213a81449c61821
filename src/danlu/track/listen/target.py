"""The run to log to: the given one, else the newest in this process, else a new one."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional

from danlu.track import ending
from danlu.track.reading import open_journals, points
from danlu.track.run import Run, SilentRun
from danlu.track.values import MAX_STEP, brief
from danlu.track.warn import warn_once

MAX_ENDS = 3
"""Of the run of one key. Each time that it goes on is a journal and a branch, so a function that opens and closes a
writer at every call must not end the run at every call."""

MAX_KEPT = 8
"""Maximum number of runs that stay open for this reason."""

NO_FAILURES = (StopIteration, StopAsyncIteration, GeneratorExit)


@dataclass
class _Own:
    """A run that was started here and has not ended."""

    run: Run
    handled: int
    """id() of the exception that the script was handling when the run began: it is no part of the run."""


@dataclass
class _Ended:
    path: str
    times: int


class Target:
    """The target of one mirror or one `autolog`. Thread-safe."""

    def __init__(self, run: Optional[Run]) -> None:
        self._given = run
        self._own: dict[str, _Own] = {}
        """Runs that were started here, by what they are for; the newest is the last."""

        self._ended: dict[str, _Ended] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def there(self) -> Optional[Run]:
        """The run, if none has to be started."""
        if self._given is not None:
            return self._given
        return ending.newest()

    def run(self, name: str, *, key: str = "", **about: Any) -> Run:
        """Return the run; start one of this name if the script has none. In a forked child it is silent, like every
        run. Runs that are started here are one for each `key`; one that `end` has ended goes on."""
        if os.getpid() != self._process:
            return self.there or SilentRun(name)
        found = self.there
        with self._lock:
            if found is not None and (found is self._given or all(one.run is not found for one in self._own.values())):
                return found
            own = self._own.get(key)
            if own is None or own.run.state != "running":
                own = self._begin(name, key, about)
            own.run.is_complete = False
            return own.run

    def end(self, key: str) -> None:
        """End the run of this key, if it was started here: as `failed` or `stopped` while an exception leaves the
        code that used it, else as `finished`."""
        if os.getpid() != self._process:
            return
        with self._lock:
            own = self._own.get(key)
            if own is None:
                return
            error = sys.exc_info()[1]
            if error is None or id(error) == own.handled or issubclass(type(error), NO_FAILURES):
                error = None
            times = self._ended[key].times if key in self._ended else 0
            if error is None and times >= MAX_ENDS:
                self._keep(key, own)
            else:
                self._end(key, error)

    def finish(self) -> None:
        """End the runs that were started here. None of them goes on."""
        for own in self._own.values():
            own.run.finish()
        self._own.clear()
        self._ended.clear()

    def _begin(self, name: str, key: str, about: dict[str, Any]) -> _Own:
        from danlu.track.begin import start

        ended = self._ended.get(key)
        run = _continued(ended.path) if ended is not None else None
        self._own.pop(key, None)
        own = self._own[key] = _Own(run or start(name, **about), id(sys.exc_info()[1]))
        give_output(one.run for one in self._own.values())
        return own

    def _keep(self, key: str, own: _Own) -> None:
        """Leave a run open that goes on again and again, until the script or too many others end it."""
        own.run.is_complete = True
        self._own[key] = self._own.pop(key)
        kept = [key for key, one in self._own.items() if one.run.is_complete]
        for oldest in kept[:-MAX_KEPT]:
            self._end(oldest, None)

    def _end(self, key: str, error: Optional[BaseException]) -> None:
        run = self._own.pop(key).run
        run.finish(*(("finished", "") if error is None else ending.state_after(error)))
        if not isinstance(run, SilentRun):
            times = self._ended[key].times if key in self._ended else 0
            self._ended[key] = _Ended(run.path, times + 1)
        give_output(one.run for one in self._own.values())


def give_output(runs: Iterable[Run]) -> None:
    """Let only the last of these runs record what is printed: several would each store the output of all."""
    listed = list(runs)
    for run in listed:
        run.capture_output(run is listed[-1])


def _continued(path: str) -> Optional[Run]:
    """Continue an ended run; None when its files cannot be read, or were removed."""
    from danlu.track.begin import load

    try:
        run = load(path)
        last = max(
            (one.step for file in open_journals(path) for one in points(file) if one.type != "system"), default=-1
        )
        run.append_from(min(last + 1, MAX_STEP))
    except Exception as error:
        warn_once("go on", f"run {path!r} cannot go on, a new one is started: {brief(error, 300)}")
        return None
    return run
