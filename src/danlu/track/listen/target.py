"""Which run gets what is heard: the one that was named, else the newest one here, else one that is begun for it."""

from __future__ import annotations

import os
from typing import Any, Optional

from danlu.track import ending
from danlu.track.run import Run, SilentRun


class Target:
    """Where one mirror, or one `autolog`, writes."""

    def __init__(self, run: Optional[Run]) -> None:
        self._given = run
        self._own: Optional[Run] = None
        self._process = os.getpid()

    @property
    def there(self) -> Optional[Run]:
        """The run, when nothing must be begun for it."""
        if self._given is not None:
            return self._given
        return ending.newest()

    def run(self, name: str, **about: Any) -> Run:
        """The run; begun under this name when there is none. In a forked child, as every run, a silent one."""
        if os.getpid() != self._process:
            return self.there or SilentRun(name)
        found = self.there
        if found is None and (self._own is None or self._own.state != "running"):
            from danlu.track.begin import start

            self._own = start(name, **about)
        return found or self._own  # type: ignore[return-value]

    def finish(self) -> None:
        """End the run if it was begun here."""
        if self._own is not None:
            self._own.finish()
            self._own = None
