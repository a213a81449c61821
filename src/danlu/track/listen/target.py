"""The run to log to: the given one, else the newest in this process, else a new one."""

from __future__ import annotations

import os
from typing import Any, Optional

from danlu.track import ending
from danlu.track.run import Run, SilentRun


class Target:
    """The target of one mirror or one `autolog`."""

    def __init__(self, run: Optional[Run]) -> None:
        self._given = run
        self._own: dict[str, Run] = {}
        """Runs that were started here, by what they are for."""

        self._process = os.getpid()

    @property
    def there(self) -> Optional[Run]:
        """The run, if none has to be started."""
        if self._given is not None:
            return self._given
        return ending.newest()

    def run(self, name: str, *, key: str = "", **about: Any) -> Run:
        """Return the run; start one of this name if the script has none. In a forked child it is silent, like every
        run. Runs that are started here are one for each `key`."""
        if os.getpid() != self._process:
            return self.there or SilentRun(name)
        found = self.there
        if found is not None and (found is self._given or found not in self._own.values()):
            return found
        own = self._own.get(key)
        if own is None or own.state != "running":
            from danlu.track.begin import start

            own = self._own[key] = start(name, **about)
        return own

    def finish(self) -> None:
        """End the runs that were started here."""
        for run in self._own.values():
            run.finish()
        self._own.clear()
