"""Upload the artifacts of a task's runs, while the command runs and after it.

The job controls the content of the folders: files are opened without following symlinks, and nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Optional

from danlu.content.drafts import FOLDER, MAX_RECORD_BYTES, RECORD, Draft, Link, begun_at, parse
from danlu.node.stage.job_files import open_regular
from danlu.node.stage.one_pass import Pass
from danlu.transfer.artifact_folders import send_draft
from danlu.transfer.errors import Changed, Damaged, LocalProblem, Refused, Removed


class _JobFolder:
    """A folder that the job can write to. Nothing is written here, and what it says about runs is not trusted."""

    def __init__(self, path: str, note: Callable[[dict[str, Any]], None]) -> None:
        self.path = path
        self._note = note

    def open(self, path: str) -> AbstractContextManager[int]:
        return open_regular(path)

    def note(self, line: dict[str, Any]) -> None:
        self._note(line)

    def find_run(self, link: Link) -> Optional[dict[str, Any]]:  # noqa: ARG002
        return None


class ArtifactsSender:
    """Remembers what it has uploaded. An artifact that is rejected for good is reported once and never fails the
    task."""

    def __init__(self, runs: Optional[str], *, say: Callable[[str], None]) -> None:
        self._folder = os.path.join(runs, FOLDER) if runs is not None else None
        self._say = say
        self._uploaded: dict[str, dict[str, Any]] = {}
        self._linked: dict[str, tuple[Link, ...]] = {}
        self._refused: set[str] = set()

    def send(self, this_pass: Pass) -> None:
        """Upload every finished artifact. Raise ServerAway when the server stays unreachable."""
        if self._folder is None or os.path.islink(self._folder) or not os.path.isdir(self._folder):
            return
        names = sorted(os.listdir(self._folder))
        folders = [folder for name in names if (folder := os.path.join(self._folder, name)) not in self._refused]
        drafts = {folder: draft for folder in folders if (draft := self._try_read(folder)) is not None}
        waiting: set[str] = set()
        """Names: later artifacts of the same name wait too, because versions are numbered in order."""

        for folder in sorted(drafts, key=lambda folder: begun_at(drafts[folder].header)):
            name = str(drafts[folder].header.get("name"))
            if name not in waiting and not self._send(folder, drafts[folder], this_pass):
                waiting.add(name)

    def _try_read(self, folder: str) -> Optional[Draft]:
        try:
            return self._read(folder)
        except Removed:
            return None
        except (LocalProblem, ValueError, TypeError) as problem:
            self._refuse(folder, str(problem))
            return None

    def _send(self, folder: str, draft: Draft, this_pass: Pass) -> bool:
        """Return False when this has to be tried again."""
        try:
            if draft.incomplete and not draft.is_sealed:
                self._refuse(folder, draft.why_unfinished)
            elif draft.is_sealed and not draft.is_done:
                send_draft(this_pass.api, draft, folder=_JobFolder(folder, partial(self._note, folder)))
        except Removed:
            return True
        except (LocalProblem, Changed, Damaged, ValueError, TypeError) as problem:
            self._refuse(folder, str(problem))
        except Refused as refused:
            if refused.status == 401:
                raise
            if refused.is_temporary:
                this_pass.put_off(refused)
                return False
            if refused.status == 404 and this_pass.may_lack_runs:
                return False  # it may be linked with such a run
            self._refuse(folder, f"{refused.status} {refused.message}")
        return True

    def _read(self, folder: str) -> Optional[Draft]:
        """Return the record and what was uploaded already. The project is the job's, whatever the record says."""
        with open_regular(os.path.join(folder, RECORD)) as descriptor:
            size = os.fstat(descriptor).st_size
            draft = parse(os.pread(descriptor, min(size, MAX_RECORD_BYTES), 0))
        if draft is None:
            return None
        return draft._replace(
            header={**draft.header, "project": None},
            uploaded=self._uploaded.get(folder, draft.uploaded),
            linked=self._linked.get(folder, ()),
        )

    def _note(self, folder: str, line: dict[str, Any]) -> None:
        if "uploaded" in line:
            self._uploaded[folder] = line["uploaded"]
        else:
            self._linked[folder] = (*self._linked.get(folder, ()), Link(**line["linked"]))

    def _refuse(self, folder: str, why: str) -> None:
        self._say(f"{folder}: this artifact is not on the server: {why}")
        self._refused.add(folder)
