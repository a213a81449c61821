"""Brings the artifacts of a task's runs to the server while the command runs and after it.

The folders belong to the job, which may put anything there: files are opened so that no link leads out of them, and
nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Optional

from danlu.content.drafts import FOLDER, MAX_RECORD_BYTES, RECORD, Draft, Link, parse
from danlu.node.stage.send import Removed, open_regular
from danlu.transfer.artifact_folders import upload
from danlu.transfer.carrier import Damaged
from danlu.transfer.http import LocalProblem, Refused, Server


class ArtifactsSender:
    """Remembers what it has sent. What the server does not take is said once, and never fails the task."""

    def __init__(self, server: Server, runs: Optional[str], *, say: Callable[[str], None]) -> None:
        self._server = server
        self._folder = os.path.join(runs, FOLDER) if runs is not None else None
        self._say = say
        self._uploaded: set[str] = set()
        self._linked: set[tuple[str, Link]] = set()
        self._refused: set[str] = set()

    def send(self) -> None:
        """Send every artifact that is finished. Raise Away when the server does not come back."""
        if self._folder is None or os.path.islink(self._folder) or not os.path.isdir(self._folder):
            return
        for name in sorted(os.listdir(self._folder)):
            folder = os.path.join(self._folder, name)
            if folder not in self._refused:
                self._send(folder)

    def _send(self, folder: str) -> None:
        try:
            draft = _read(folder)
            if draft is None or not draft.is_sealed:
                return
            if folder not in self._uploaded and draft.uploaded is None:
                self._server.patiently(
                    folder, lambda: upload(self._server, folder, draft, opened=open_regular, begin={"project": None})
                )
            self._uploaded.add(folder)
            for link in draft.links:
                if (folder, link) not in self._linked:
                    self._link(draft, link)
                    self._linked.add((folder, link))
        except Removed:
            return
        except (LocalProblem, Damaged, ValueError, TypeError) as problem:
            self._refuse(folder, str(problem))
        except Refused as refused:
            if refused.status == 401:
                raise
            self._refuse(folder, f"{refused.status} {refused.message}")

    def _link(self, draft: Draft, link: Link) -> None:
        body = {"run": link.run, "kind": link.kind}
        path = f"/artifacts/versions/{draft.id}/links"
        self._server.patiently(draft.id, lambda: self._server.post_json(path, body))

    def _refuse(self, folder: str, why: str) -> None:
        self._say(f"{folder}: this artifact is not on the server: {why}")
        self._refused.add(folder)


def _read(folder: str) -> Optional[Draft]:
    with open_regular(os.path.join(folder, RECORD)) as descriptor:
        size = os.fstat(descriptor).st_size
        return parse(os.pread(descriptor, min(size, MAX_RECORD_BYTES), 0))
