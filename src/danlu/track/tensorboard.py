"""Import TensorBoard event files as local runs, and export runs of the server as event files."""

from __future__ import annotations

import csv
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional, Union

from danlu.importing.event_files import Trouble, Value, find_event_files, group_by_run, read_events, type_of
from danlu.journal.event_files import record, scalar_event, version_event
from danlu.journal.words import TYPES
from danlu.track import media
from danlu.track.values import type_word
from danlu.track.warn import warn_once

if TYPE_CHECKING:
    from danlu.client.tracking.runs import Run as ServerRun
    from danlu.track.run import Run


class Imported(NamedTuple):
    num_points: int
    num_media: int
    num_files: int
    runs: tuple[Run, ...] = ()


def import_tensorboard(path: Union[str, Path], run: Optional[Run] = None, *, name: Optional[str] = None) -> Imported:
    """Import an event file, or all in a folder, into a run; by default into new, finished runs.

    Every folder with event files is a run, except for folders named after a type (`validation`) and those created by
    `add_hparams`, which belong to their parent folder. The type is the first part of a tag (`val/loss`), else that
    folder's name, else `train`. Raises FileNotFoundError when there is no event file. A truncated file is imported up
    to its last complete record; that, and damaged events, are one warning per file.
    """
    top = os.path.abspath(os.fspath(path))
    files = find_event_files(top)
    if not files:
        raise FileNotFoundError(2, "no TensorBoard event file (events.out.tfevents...)", os.fspath(path))
    if run is not None:
        return _import(files, run)
    from danlu.track.begin import start

    called, parts = name or os.path.basename(top), []
    for folder, inside in group_by_run(top, files).items():
        into = start(f"{called}/{folder}" if folder else called, {})
        parts.append(_import(inside, into))
        into.finish()
    return Imported(
        sum(one.num_points for one in parts),
        sum(one.num_media for one in parts),
        len(files),
        tuple(run for one in parts for run in one.runs),
    )


def export_tensorboard(job: str, folder: Union[str, Path]) -> int:
    """Export the metrics of a job's runs from the server as event files in a folder; return the number of runs.

    Exports every point, except those that a newer branch superseded, and the machine's resource usage.
    """
    from danlu.client import Client

    num_runs = 0
    with Client() as client:
        for summary in client.runs.list(job=job):
            place = Path(folder) / summary.id
            place.mkdir(parents=True, exist_ok=True)
            write_events(client.runs.get(summary.id), place / f"events.out.tfevents.{int(time.time())}.danlu")
            num_runs += 1
    return num_runs


def write_events(run: ServerRun, to: Path) -> None:
    """Export the metrics of a server's run as an event file, including NaN and infinity."""
    from danlu.spec.runs import SYSTEM

    with tempfile.TemporaryDirectory() as folder:
        points = run.export(Path(folder) / "points.csv")
        with points.open(newline="", encoding="utf-8") as rows, to.open("wb") as file:
            file.write(record(version_event(time.time())))
            for row in csv.DictReader(rows):
                if row["type"] != SYSTEM and row["is_hidden"] == "0":
                    tag = "/".join(word for word in (row["type"], row["name"]) if word)
                    event = scalar_event(float(row["time"]), int(row["step"]), tag=tag, value=float(row["value"]))
                    file.write(record(event))


def _import(files: list[str], into: Run) -> Imported:
    num_points = num_media = 0
    for file in files:
        trouble = Trouble()
        for value in read_events(file, trouble):
            kind, metric = split_tag(value.tag, type_of(file))
            if isinstance(value.what, float):
                into.log_past(kind, {metric: value.what}, step=value.step, time=value.time)
                num_points += 1
            elif value.what[0] == "hparams":
                into.hparams.update(value.what[1])
            elif value.what[0] not in ("other", "session"):
                _log_media(into, kind, metric, value)
                num_media += 1
        if trouble.why:
            warn_once(f"event file {file}", f"{file}: {trouble.why}; the rest is imported")
    return Imported(num_points, num_media, len(files), (into,))


def split_tag(tag: str, otherwise: str) -> tuple[str, str]:
    """Split a tag into type and name. `validation/loss` has type `val`, and so has `epoch_loss` in a folder
    `validation`."""
    first, slash, rest = tag.partition("/")
    if slash and rest and first.lower() in TYPES:
        return type_word(first), rest
    return otherwise, tag


def _log_media(run: Run, kind: str, metric: str, value: Value) -> None:
    assert isinstance(value.what, tuple)
    what, data = value.what
    if what == "histogram":
        edges, counts = data
        # TensorBoard's outermost limits are ±1.8e308, which charts cannot show
        finite = [max(-1e300, min(1e300, edge)) for edge in edges]
        run.add_media(
            "histogram", metric, step=value.step, type=kind, value=media.counted(finite, counts), time=value.time
        )
    else:  # an audio file contains its sample rate
        given = (data, 0) if what == "audio" else data
        run.add_media(what, metric, step=value.step, type=kind, value=given, time=value.time)
