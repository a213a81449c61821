"""Read a run from its journals: for resuming, for `danlu sync`, and for inspection without a server."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

from danlu import journal
from danlu.journal import Kind
from danlu.track.folders import journals_in

PIECE_BYTES = 8 << 20


class JournalFile(NamedTuple):
    """A journal on disk and the values in its first frame."""

    path: str
    journal_id: str
    header: dict[str, Any]

    @property
    def data(self) -> bytes:
        """The whole content, read on access."""
        with open(self.path, "rb") as file:
            return file.read()

    def has_end(self) -> bool:
        """Whether it contains a FINISH frame. Reads in pieces, because a journal may be large."""
        at = journal.FILE_HEADER_BYTES
        with open(self.path, "rb") as file:
            while True:
                file.seek(at)
                found = journal.scan(file.read(PIECE_BYTES), 0)
                if any(frame.kind == Kind.FINISH for frame in found.frames):
                    return True
                if found.end == 0:
                    return False
                at += found.end


class Point(NamedTuple):
    type: str
    name: str
    step: int
    time: float
    epoch: Optional[float]
    value: float
    branch: int


class Recorded(NamedTuple):
    """What its journals say about a run, merged."""

    header: dict[str, Any]
    hparams: dict[str, Any]
    summary: dict[str, Any]
    environment: dict[str, Any]
    axes: dict[str, Any]
    """Metric -> the metric on its X axis."""

    fields: dict[str, Any]
    """`labels`, `name`, `folder`, `description`, `total_steps`, if set after the start."""

    branch: int
    """The newest branch."""

    last_step: int
    """The largest step of the newest branch; -1 without points."""

    state: Optional[str]
    """How it ended; None while it runs or when its end is not recorded."""


def open_journals(folder: str) -> list[JournalFile]:
    """Return the journals of a run whose first frame is complete, and names a run."""
    found = []
    for path in journals_in(folder):
        if not os.path.isfile(path):
            continue  # reading a pipe would block forever
        with open(path, "rb") as file:
            head = file.read(journal.FILE_HEADER_BYTES + journal.MAX_PAYLOAD_BYTES + 64)
        try:
            about = journal.read_file_header(head)
            first = next(iter(journal.scan(head).frames), None)
            header = journal.decode_json(first) if first is not None and first.kind == Kind.RUN else {}
        except journal.BadJournal:
            continue
        if isinstance(header.get("run"), str):
            found.append(JournalFile(path, about.journal_id, header))
    return sorted(found, key=_order)


def read_run(folder: str) -> Recorded:
    """Merge the journals of a folder. Raise FileNotFoundError when there is none."""
    files = open_journals(folder)
    if not files:
        raise FileNotFoundError(2, "no journal of a run here", os.path.abspath(folder))
    mappings: dict[str, dict[str, Any]] = {"hparams": {}, "summary": {}, "environment": {}, "axes": {}}
    fields: dict[str, Any] = {}
    branch, last_steps = 1, {0: -1}
    ends: dict[tuple[int, bool], str] = {}
    for one in files:
        now = int(one.header.get("branch") or 1)
        for frame in journal.scan(one.data).frames:
            if frame.kind == Kind.SET:
                _apply(journal.decode_json(frame), mappings, fields)
            elif frame.kind == Kind.BRANCH:
                now = int(journal.decode_json(frame)["branch"])
            elif frame.kind == Kind.FINISH:
                # the process's own record of its end takes precedence over the companion's
                ends.setdefault((now, one.header.get("writer") != "process"), journal.decode_json(frame)["state"])
            branch = max(branch, now)
        last_steps[now] = max([last_steps.get(now, -1), *(p.step for p in points(one) if p.type != "system")])
    mappings["environment"] = {**(files[0].header.get("environment") or {}), **mappings["environment"]}
    state = next((ends[key] for key in ((branch, False), (branch, True)) if key in ends), None)
    last_step = last_steps.get(branch, -1)
    return Recorded(files[0].header, **mappings, fields=fields, branch=branch, last_step=last_step, state=state)


def points(one: JournalFile) -> Iterator[Point]:
    """Yield all points of a journal, in order."""
    layouts: dict[int, journal.Layout] = {}
    branch = int(one.header.get("branch") or 1)
    for frame in journal.scan(one.data).frames:
        if frame.kind == Kind.LAYOUT:
            layout = journal.decode_layout(frame)
            layouts[layout.number] = layout
        elif frame.kind == Kind.BRANCH:
            branch = int(journal.decode_json(frame)["branch"])
        elif frame.kind == Kind.POINTS:
            layout = layouts[journal.layout_number(frame)]
            for step, time, epoch, *values in journal.rows(frame, len(layout.names)):
                for name, value in zip(layout.names, values):
                    yield Point(layout.type, name, step, time, None if math.isnan(epoch) else epoch, value, branch)


def _apply(values: dict[str, Any], mappings: dict[str, dict[str, Any]], fields: dict[str, Any]) -> None:
    field = values["field"]
    if field not in mappings:
        fields[field] = values.get("value")
        return
    for name in values.get("remove") or ():
        mappings[field].pop(name, None)
    mappings[field].update(values.get("set") or {})


def _order(one: JournalFile) -> tuple[float, bool, float, float]:
    header = one.header
    branch, rank, created = (_number(header.get(name)) for name in ("branch", "rank", "created_at"))
    return branch or 1, header.get("writer") != "process", rank, created


def _number(value: Any) -> float:
    """Return a number of a header; 0 for anything else, which the server refuses with a reason."""
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e300 else 0.0
