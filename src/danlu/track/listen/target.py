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
        self._own: Optional[Run] = None
        self._process = os.getpid()

    @property
    def there(self) -> Optional[Run]:
        """The run, if none has to be started."""
        if self._given is not None:
            return self._given
        return ending.newest()

    def run(self, name: str, **about: Any) -> Run:
        """Return the run; start one of this name if there is none. In a forked child it is silent, like every run."""
        if os.getpid() != self._process:
            return self.there or SilentRun(name)
        found = self.there
        if found is None and (self._own is None or self._own.state != "running"):
            from danlu.track.begin import start

            self._own = start(name, **about)
        return found or self._own  # type: ignore[return-value]

    def finish(self) -> None:
        """End the run if it was started here."""
        if self._own is not None:
            self._own.finish()
            self._own = None
