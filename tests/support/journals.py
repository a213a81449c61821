"""Journals for tests, made with the same functions that training uses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from danlu import journal

BEGAN = 1_700_000_000.0


class JournalMaker:
    """Puts together a journal frame by frame; `data` are all bytes so far."""

    def __init__(self, run: str | None = None, *, branch: int = 1, writer: str = "process", **header: Any) -> None:
        self.run = run or journal.new_run_id()
        self.name = journal.new_journal_id()
        self.header = {
            "run": self.run,
            "name": "test",
            "created_at": BEGAN,
            "branch": branch,
            "writer": writer,
            "rank": 0,
            **header,
        }
        self.data = journal.file_header(self.name) + journal.encode_run(self.header)
        self._layouts: dict[tuple[str, tuple[str, ...]], int] = {}

    def log(
        self, type_: str, columns: Mapping[str, Sequence[float]], steps: Iterable[int], epoch: float | None = None
    ) -> JournalMaker:
        """One frame with a row per step."""
        names = tuple(columns)
        number = self._layouts.get((type_, names))
        if number is None:
            number = self._layouts[type_, names] = len(self._layouts) + 1
            self.data += journal.encode_layout(journal.Layout(number, type_, names))
        pack = journal.row_struct(len(names)).pack
        at = math.nan if epoch is None else epoch
        rows = [
            pack(step, BEGAN + step, at, *(column[place] for column in columns.values()))
            for place, step in enumerate(steps)
        ]
        for first in range(0, len(rows), 5000):
            self.data += journal.encode_points(number, rows[first : first + 5000])
        return self

    def add(self, frame: bytes) -> JournalMaker:
        self.data += frame
        return self

    def finish(self, state: str = "finished", at: float = BEGAN + 100) -> JournalMaker:
        return self.add(journal.encode_finish(state, time=at))
