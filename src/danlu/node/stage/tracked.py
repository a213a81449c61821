"""Upload the runs and artifacts of a task in passes, so that one that the server refuses for now does not hold up the
others."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Optional

from danlu.node.stage.artifacts import ArtifactsSender
from danlu.node.stage.one_pass import Pass
from danlu.node.stage.runs import RunsSender
from danlu.transfer.api import Api
from danlu.transfer.errors import Refused
from danlu.transfer.retrying import Backoff

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0


class Tracked:
    def __init__(self, api: Api, folder: Optional[str], *, say: Callable[[str], None]) -> None:
        self._api = api
        self._say = say
        self._runs = RunsSender(folder, say=say)
        self._artifacts = ArtifactsSender(folder, say=say)

    def send(self) -> bool:
        """Make one pass. Return whether something has to wait for another one. Raise ServerAway, and Refused when the
        token is not valid."""
        return self._send(is_last=False) is not None

    def send_rest(self, patience_seconds: float) -> None:
        """Make passes until nothing has to wait. Raise Refused when patience is over."""
        backoff = Backoff(patience_seconds, first_seconds=FIRST_PAUSE_SECONDS, longest_seconds=LONGEST_PAUSE_SECONDS)
        while (refused := self._send(is_last=True)) is not None:
            pause = backoff.failed()
            if pause is None:
                raise refused
            time.sleep(pause)

    def _send(self, *, is_last: bool) -> Optional[Refused]:
        this_pass = Pass(self._api, is_last=is_last)
        self._runs.send(this_pass)
        self._artifacts.send(this_pass)
        if this_pass.refused is not None:
            told = f"{this_pass.refused.status} {this_pass.refused.message}"
            self._say(f"runs or artifacts have to wait: {told}; trying again in a moment")
        return this_pass.refused
