"""Sends artifacts while a training runs: a thread of the companion, so that metrics do not wait for large files."""

from __future__ import annotations

import os
import threading
import time
from typing import Callable, Optional

from danlu.content.drafts import RECORD, find_drafts, read_draft
from danlu.track.address import Address, connected
from danlu.track.syncing import AWAY, sync_artifact

LOOK_SECONDS = 2.0
MAX_PAUSE_SECONDS = 30.0


class ArtifactsBeside:
    """Looks into a folder of artifacts now and then, and sends those that are finished."""

    def __init__(self, folder: str, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._done: dict[str, int] = {}
        self._is_last = threading.Event()
        self._give_up_at: Optional[float] = None
        self._thread: Optional[threading.Thread] = None

    def start(self, address: Address) -> None:
        self._thread = threading.Thread(target=self._run, args=(address,), name="danlu-artifacts", daemon=True)
        self._thread.start()

    def finish(self, patience_seconds: float) -> None:
        """Return when all is sent, or the server has been away for so long. `danlu sync` does the rest."""
        self._give_up_at = time.monotonic() + patience_seconds
        self._is_last.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, address: Address) -> None:
        pause = LOOK_SECONDS
        while True:
            is_last = self._is_last.is_set()
            try:
                self._send(address)
                if is_last:
                    return
                pause = LOOK_SECONDS
            except AWAY as error:
                self._say(f"artifacts are not synced: {error}; trying again in {pause:.0f} s")
                if self._give_up_at is not None and time.monotonic() > self._give_up_at:
                    return
                pause = min(MAX_PAUSE_SECONDS, pause * 2)
            if is_last:
                time.sleep(min(pause, LOOK_SECONDS))
            else:
                self._is_last.wait(pause)

    def _send(self, address: Address) -> None:
        for folder in find_drafts(self._folder):
            size = os.path.getsize(os.path.join(folder, RECORD))
            if self._done.get(folder) == size:  # a link that comes later makes the record longer
                continue
            draft = read_draft(folder)
            if draft is None or not draft.is_sealed:
                continue
            with connected(address) as server:
                done = sync_artifact(server, folder)
            if done is not None:
                self._done[folder] = os.path.getsize(os.path.join(folder, RECORD))
                if done.problem:
                    self._say(f"{done.name} is not synced: {done.problem}")
