"""Uploads artifacts during training, in a thread of the companion, so that metrics do not wait for large files."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterable
from typing import Callable, Optional

from danlu.content.drafts import RECORD, find_drafts, read_draft
from danlu.track.sync.address import Address, connected
from danlu.track.sync.syncing import ServerAway, sync_artifact
from danlu.transfer.retrying import Backoff

LOOK_SECONDS = 2.0
MAX_PAUSE_SECONDS = 30.0


class ArtifactSync:
    """Scans folders of artifacts at intervals, and sends those that are finished."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._address: Optional[Address] = None
        self._folders: tuple[str, ...] = ()
        self._done: dict[str, int] = {}
        self._sent_at: dict[str, float] = {}
        self._wake = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def look_into(self, address: Optional[Address], folders: Iterable[str], *, soon: bool) -> None:
        """Set the folders to scan; with `soon`, scan them before the usual pause is over."""
        self._address = address
        self._folders = tuple(sorted(set(folders)))
        if address is None or not self._folders:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="danlu-artifacts", daemon=True)
            self._thread.start()
        if soon:
            self._wake.set()

    def has_sent_since(self, folder: str, moment: float) -> bool:
        """Whether everything finished in a folder before a moment (of `time.monotonic`) was sent, or never will be."""
        return self._address is None or not os.path.isdir(folder) or self._sent_at.get(folder, -math.inf) > moment

    def _run(self) -> None:
        backoff = Backoff(math.inf, first_seconds=LOOK_SECONDS, longest_seconds=MAX_PAUSE_SECONDS)
        while True:
            self._wake.clear()
            pause = LOOK_SECONDS
            try:
                for folder in self._folders:
                    began = time.monotonic()
                    self._send_finished(folder)
                    self._sent_at[folder] = began
                backoff.reset()
            except ServerAway as error:
                pause = backoff.failed() or LOOK_SECONDS
                self._say(f"artifacts are not synced: {error}; trying again in {pause:.0f} s")
                time.sleep(LOOK_SECONDS)  # minimum pause, whatever else is requested
            except Exception as error:  # the thread must not end
                self._say(f"artifacts are not synced: {error!r}")
            self._wake.wait(pause)

    def _send_finished(self, folder: str) -> None:
        """Send finished artifacts in order. Raise ServerAway at the end if some have to wait."""
        waiting: dict[str, str] = {}
        """Name -> why: later artifacts of the same name wait too, because versions are numbered in order."""

        for draft_folder in find_drafts(folder):
            size = os.path.getsize(os.path.join(draft_folder, RECORD))
            if self._done.get(draft_folder) == size:  # a later link makes the record longer
                continue
            draft = read_draft(draft_folder)
            if draft is None or not draft.is_sealed or self._address is None:
                continue
            name = str(draft.header.get("name"))
            if name in waiting:
                continue
            with connected(self._address) as api:
                done = sync_artifact(api, draft_folder)
            if done is not None and done.is_temporary:
                waiting[name] = done.problem
            elif done is not None:
                self._done[draft_folder] = os.path.getsize(os.path.join(draft_folder, RECORD))
                if done.problem:
                    self._say(f"{done.name} is not synced: {done.problem}")
        if waiting:
            raise ServerAway(next(iter(waiting.values())))
