"""Upload the journals of a task's runs while the command runs: the job itself cannot reach the server."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Optional

from danlu.content.drafts import FOLDER
from danlu.journal import BadJournal
from danlu.node.stage.job_files import open_regular, walk
from danlu.node.stage.one_pass import Pass
from danlu.transfer.api import Api
from danlu.transfer.errors import LocalProblem, Refused, Removed
from danlu.transfer.journals import announce, read_run_header, send_open

JOURNAL = ".journal"


class RunsSender:
    """Remembers what it has sent. A journal that is rejected for good is reported once and never fails the task."""

    def __init__(self, folder: Optional[str], *, say: Callable[[str], None]) -> None:
        self._folder = folder
        self._say = say
        self._sent_bytes: dict[str, int] = {}
        self._announced: set[str] = set()
        self._refused: set[str] = set()

    def send(self, this_pass: Pass) -> None:
        """Upload new data of all journals. Raise ServerAway when the server stays unreachable."""
        if self._folder is None:
            return
        artifacts = os.path.join(self._folder, FOLDER, "")
        for path in walk(self._folder, lambda where, why: self._say(f"{where}: {why}")):
            if path.endswith(JOURNAL) and path not in self._refused and not path.startswith(artifacts):
                self._send(path, this_pass)

    def _send(self, path: str, this_pass: Pass) -> None:
        try:
            with open_regular(path) as descriptor:
                size = os.fstat(descriptor).st_size
                if size == self._sent_bytes.get(path):
                    return
                self._send_once(this_pass.api, descriptor)
                self._sent_bytes[path] = size
        except Removed:
            return
        except (LocalProblem, BadJournal) as problem:
            self._say(f"{path}: {problem}")
            self._refused.add(path)
        except Refused as refused:
            if refused.status == 401:
                raise
            if refused.is_temporary:
                this_pass.put_off(refused)
                return
            self._say(f"{path}: the server rejected this run: {refused.status} {refused.message}")
            self._refused.add(path)

    def _send_once(self, api: Api, descriptor: int) -> None:
        header = read_run_header(descriptor)
        if header is None:
            return  # its first frame is not complete yet
        run_id = str(header.get("run"))
        if run_id not in self._announced:
            announce(api, header)
            self._announced.add(run_id)
        send_open(api, run_id, descriptor)
