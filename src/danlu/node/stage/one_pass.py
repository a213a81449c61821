"""One pass over the runs and artifacts of a task. What the server refuses temporarily is left for a later pass."""

from __future__ import annotations

from typing import Optional

from danlu.transfer.api import Api
from danlu.transfer.errors import Refused

BRIEF_SECONDS = 10.0
"""How long a pass waits for a busy server. A full disk is waited for between passes: meanwhile others get through."""


class Pass:
    def __init__(self, api: Api, *, is_last: bool) -> None:
        self._brief, self._at_once = api.hasty(BRIEF_SECONDS), api.hasty(0.0)
        self._is_last = is_last
        self.refused: Optional[Refused] = None
        """Why something has to wait for another pass."""

    @property
    def api(self) -> Api:
        """Waits briefly for a busy server, but only until something had to be left for another pass."""
        return self._brief if self.refused is None else self._at_once

    @property
    def may_lack_runs(self) -> bool:
        """Whether a run may exist here that is not on the server yet: it has just begun, or has to wait."""
        return self.refused is not None or not self._is_last

    def put_off(self, refused: Refused) -> None:
        """Leave something for another pass."""
        self.refused = refused
