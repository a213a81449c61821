"""Sends artifacts while a training runs: a thread of the companion, so that metrics do not wait for large files."""

from __future__ import annotations

import math
import os
import threading
import time
from typing import Callable, Optional

from danlu.content.drafts import RECORD, find_drafts, read_draft
from danlu.track.sync.address import Address, connected
from danlu.track.sync.syncing import ServerAway, sync_artifact
from danlu.transfer.retrying import Backoff

LOOK_SECONDS = 2.0
MAX_PAUSE_SECONDS = 30.0


class ArtifactSync:
    """Looks into a folder of artifacts now and then, and sends those that are finished."""

    def __init__(self, folder: str, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._done: dict[str, int] = {}
        self._is_last = threading.Event()
        self._last_patience_seconds = 0.0
        self._thread: Optional[threading.Thread] = None

    def start(self, address: Address) -> None:
        self._thread = threading.Thread(target=self._run, args=(address,), name="danlu-artifacts", daemon=True)
        self._thread.start()

    def finish(self, patience_seconds: float) -> None:
        """Return when all is sent, or the server has been away for so long. `danlu sync` does the rest."""
        self._last_patience_seconds = patience_seconds
        self._is_last.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, address: Address) -> None:
        """Look now and then until the end, and then until all is sent or patience is over."""
        backoff = Backoff(math.inf, first_seconds=LOOK_SECONDS, longest_seconds=MAX_PAUSE_SECONDS)
        while not self._is_last.is_set():
            pause = self._send(address, backoff)
            self._is_last.wait(LOOK_SECONDS if pause is None else pause)
        backoff = Backoff(self._last_patience_seconds, longest_seconds=LOOK_SECONDS)
        while (pause := self._send(address, backoff)) is not None:
            time.sleep(pause)

    def _send(self, address: Address, backoff: Backoff) -> Optional[float]:
        """Send what is finished. Return the seconds until it is to be tried again; None when it is not."""
        try:
            self._send_finished(address)
        except ServerAway as error:
            pause = backoff.failed()
            self._say(f"artifacts are not synced: {error}; trying again in {pause or 0.0:.0f} s")
            return pause
        backoff.reset()
        return None

    def _send_finished(self, address: Address) -> None:
        for folder in find_drafts(self._folder):
            size = os.path.getsize(os.path.join(folder, RECORD))
            if self._done.get(folder) == size:  # a link that comes later makes the record longer
                continue
            draft = read_draft(folder)
            if draft is None or not draft.is_sealed:
                continue
            with connected(address) as api:
                done = sync_artifact(api, folder)
            if done is not None:
                self._done[folder] = os.path.getsize(os.path.join(folder, RECORD))
                if done.problem:
                    self._say(f"{done.name} is not synced: {done.problem}")
