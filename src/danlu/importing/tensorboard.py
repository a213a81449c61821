"""Runs of TensorBoard: every folder with event files is a run."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from danlu.importing import media
from danlu.importing.event_files import Trouble, Value, find_event_files, group_by_run, read_events, type_of
from danlu.importing.records import UNREADABLE, Event, ForeignRun, MadeArtifact, Medium, Points, Problems, Source
from danlu.journal.words import TYPES

HEAD_BYTES = 4096


class EventFolders(Source):
    """The runs of an event file, or of all event files in a folder."""

    def __init__(self, path: Path, name: Optional[str] = None) -> None:
        self._top = os.path.abspath(path)
        self._name = name or os.path.basename(self._top)
        self._problems: list[str] = []

    def runs(self) -> Iterator[ForeignRun]:
        files = find_event_files(self._top)
        if not files:
            self._problems.append(f"no TensorBoard event file (events.out.tfevents...) at {self._top}")
        for folder, inside in group_by_run(self._top, files).items():
            try:
                run = _survey(inside, f"{self._name}/{folder}" if folder else self._name)
            except UNREADABLE as error:
                self._problems.append(f"{folder or self._name}: {error}")
                continue
            yield run

    def problems(self) -> list[str]:
        return self._problems


@dataclass(frozen=True)
class EventsRun(ForeignRun):
    files: tuple[str, ...] = ()

    def events(self) -> Iterator[Event]:
        for file in self.files:
            trouble = Trouble()
            for value in read_events(file, trouble):
                try:
                    yield from _event_of(value, type_of(file))
                except UNREADABLE as error:
                    self.problems.add(f"{value.tag[:80]!r} of step {value.step}: {error}")
            if trouble.why:
                self.problems.add(f"{os.path.basename(file)}: {trouble.why}")


def _event_of(value: Value, folder_type: str) -> Iterator[Event]:
    first, slash, rest = value.tag.partition("/")
    own = None if slash and rest and first.lower() in TYPES else folder_type
    if isinstance(value.what, float):
        yield Points({value.tag: value.what}, value.step, value.time, type=own)
        return
    kind, data = value.what
    if kind == "histogram":
        content = media.histogram(*data)
    elif kind == "table":
        content = media.table(*data)
    elif kind == "text":
        content = data.encode("utf-8", "replace")
    elif kind in ("image", "audio"):
        content = data
    else:
        return
    yield Medium(kind, value.tag, content, value.step, value.time, own)


def _survey(files: list[str], name: str) -> EventsRun:
    """Read the files once for what applies to the whole run."""
    hparams: dict[str, Any] = {}
    about: dict[str, str] = {}
    times: list[float] = []
    others: set[str] = set()
    num_values = 0
    for file in files:
        for value in read_events(file):
            num_values += 1
            if math.isfinite(value.time):
                times = [min(times[0], value.time), max(times[1], value.time)] if times else [value.time] * 2
            if isinstance(value.what, tuple) and value.what[0] == "hparams":
                hparams.update(value.what[1])
            elif isinstance(value.what, tuple) and value.what[0] == "session":
                about.update(value.what[1])
            elif isinstance(value.what, tuple) and value.what[0] == "other":
                others.add(str(value.what[1]))
    if not num_values:
        raise ValueError("its event files contain no values")
    problems = Problems()
    key = _key(files)
    for what in sorted(others):
        problems.add(f"{what}: has no page here; its event files are kept as an artifact, which TensorBoard opens")
    kept = {f"{at}/{os.path.basename(file)}": Path(file) for at, file in enumerate(files)} if others else {}
    return EventsRun(
        tracker="tensorboard",
        key=key,
        part=key,
        fingerprint=" ".join(str(os.path.getsize(file)) for file in files),
        name=name,
        created_at=times[0] if times else 0.0,
        group=about.get("group", ""),
        hparams=hparams,
        state="failed" if about.get("end") == "failure" else "finished",
        ended_at=times[1] if times else None,
        artifacts=(MadeArtifact(name=_artifact_name(name), key=f"files/{key}", files=kept),) if kept else (),
        problems=problems,
        files=tuple(files),
    )


def _key(files: list[str]) -> str:
    """Derive a key from the oldest file's name, which has time and host in it, and its start: independent of its
    location."""
    oldest = min(files, key=os.path.basename)
    with open(oldest, "rb") as file:
        begin = hashlib.sha256(file.read(HEAD_BYTES)).hexdigest()[:16]
    return f"{os.path.basename(os.path.dirname(oldest))}/{os.path.basename(oldest)}/{begin}"


def _artifact_name(name: str) -> str:
    parts = [re.sub(r"[^\w.-]+", "-", part).strip("-._")[:60] for part in name.split("/")]
    return "/".join(["tensorboard", *(part for part in parts if part)])[:200].rstrip("/")
