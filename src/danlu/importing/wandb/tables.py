"""CSV files of W&B. There are three kinds, recognized by their header line:

history    has a column `_step`: written by `run.history().to_csv(...)` and `scan_history`; one run per file
chart      first column `Step` (or another axis), then `<run> - <metric>`: exported from a chart; a run per name
runs       has `Name` and `State`: exported from the table of runs; a row per run, with its last values
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple, Optional, TextIO

from danlu.importing.records import UNREADABLE, Event, ForeignRun, Medium, Points, Problems, Source

MAX_CELL_CHARS = 1 << 20
MAX_LINE_CHARS = 32 << 20
MAX_COLUMNS = 20_000
MAX_FILE_BYTES = 8 << 30
_UNNAMED = re.compile(r"|Unnamed: \d+")
_OWN = {"_step", "_runtime", "_timestamp", "_wandb"}
_AXES = ("_step", "Step", "trainer/global_step", "global_step", "_runtime", "Relative Time (Process)", "epoch")
_TABLE = {
    "Name",
    "State",
    "Notes",
    "User",
    "Tags",
    "Created",
    "Runtime",
    "Sweep",
    "ID",
    "Group",
    "Job Type",
    "End Time",
}
_STATES = {"finished": "finished", "failed": "failed", "crashed": "died", "killed": "stopped", "running": "died"}


class WandbTables(Source):
    """The runs of a CSV file, or of all CSV files directly in a folder."""

    def __init__(self, path: Path) -> None:
        self._files = [path] if path.is_file() else [file for file in sorted(path.glob("*.csv")) if file.is_file()]
        self._problems: list[str] = []

    def runs(self) -> Iterator[ForeignRun]:
        for file in self._files:
            try:
                yield from _runs_of(file)
            except UNREADABLE as error:
                self._problems.append(f"{file}: {error}")

    def problems(self) -> list[str]:
        return self._problems


class _Table(NamedTuple):
    file: Path
    names: list[str]
    digest: str
    began: float
    """Time of the first row that has one; 0 when none has."""


def _runs_of(file: Path) -> Iterator[ForeignRun]:
    csv.field_size_limit(min(MAX_CELL_CHARS, sys.maxsize))
    if file.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"it has {file.stat().st_size} bytes; {MAX_FILE_BYTES} are the most")
    names = next(_rows(file), [])
    if len(names) > MAX_COLUMNS:
        raise ValueError(f"it has {len(names)} columns; {MAX_COLUMNS} are the most")
    table = _Table(file, names, _digest(file), _first_time(file, names))
    if "_step" in names:
        yield CsvRun(**_common(table, file.stem), columns=tuple(_metrics(names)), axis="_step")
    elif "Name" in names and "State" in names:
        yield from _listed(table)
    elif any(" - " in name for name in names[1:]):
        yield from _charted(table)
    else:
        shown = ", ".join(names[:8])
        raise ValueError(
            f"expected a column _step, columns Name and State, or columns `run - metric`, got {shown[:200]!r}"
        )


@dataclass(frozen=True)
class CsvRun(ForeignRun):
    """A run whose values are in columns of a file."""

    file: Path = field(default_factory=Path)
    columns: tuple[tuple[int, str], ...] = ()
    """(index, metric) each."""

    axis: str = ""

    def events(self) -> Iterator[Event]:
        rows = _rows(self.file)
        places = {name: at for at, name in enumerate(next(rows))}
        axis, times = places.get(self.axis, 0), places.get("_timestamp")
        runtimes, epochs = places.get("_runtime"), places.get("epoch")
        for number, row in enumerate(rows):
            step = _number(_cell(row, axis))
            numbers, texts = {}, []
            for at, name in self.columns:
                text = _cell(row, at)
                value = _number(text)
                if value is not None:
                    numbers[name] = value
                elif text:
                    texts.append((name, text))
            at_time = _number(_cell(row, times))
            runtime = _number(_cell(row, runtimes)) or 0.0
            moment = at_time if at_time is not None and math.isfinite(at_time) else self.created_at + runtime
            if step is None or not math.isfinite(step):
                step = float(number)
                if numbers or texts:
                    self.problems.add(f"row {number + 2} has no step; its number is taken")
            epoch = _number(_cell(row, epochs))
            if numbers:
                yield Points(numbers, int(step), moment, epoch if epoch is not None and math.isfinite(epoch) else None)
            for name, text in texts:
                yield Medium("text", name, text.encode("utf-8", "replace"), int(step), moment)


@dataclass(frozen=True)
class ListedRun(ForeignRun):
    """A row of the table of runs: it has last values, but no history."""

    def events(self) -> Iterator[Event]:
        numbers = {name: float(value) for name, value in self.summary.items() if isinstance(value, (int, float))}
        if numbers:
            yield Points(numbers, 0, self.ended_at or self.created_at)


def _common(table: _Table, name: str, **more: Any) -> dict[str, Any]:
    """Fields that all runs of a file share."""
    return {
        "tracker": "wandb-csv",
        "key": f"{table.digest}/{name}",
        "part": f"{table.digest}/{name}",
        "fingerprint": table.digest,
        "name": name,
        "created_at": table.began or table.file.stat().st_mtime,
        "problems": Problems(),
        "file": table.file,
        **more,
    }


def _first_time(file: Path, names: Sequence[str]) -> float:
    if "_timestamp" not in names:
        return 0.0
    at = names.index("_timestamp")
    rows = _rows(file)
    next(rows)
    found = (_number(_cell(row, at)) for row in rows)
    return next((one for one in found if one is not None and math.isfinite(one)), 0.0)


def _metrics(names: Sequence[str]) -> Iterator[tuple[int, str]]:
    for at, name in enumerate(names):
        if name not in _OWN and not _UNNAMED.fullmatch(name):
            yield at, name


def _charted(table: _Table) -> Iterator[CsvRun]:
    """Yield the runs of a chart. Columns `..__MIN` and `..__MAX` become metrics of their own if they differ from the
    value."""
    by_run: dict[str, list[tuple[int, str]]] = {}
    for at, name in enumerate(table.names):
        run, dash, metric = name.rpartition(" - ")
        if dash and run and not metric.endswith("_step__MIN") and not metric.endswith("_step__MAX"):
            by_run.setdefault(run, []).append((at, metric))
    axis = table.names[0] if table.names[0] in _AXES or " - " not in table.names[0] else ""
    for run, columns in by_run.items():
        yield CsvRun(**_common(table, run), columns=tuple(columns), axis=axis)


def _listed(table: _Table) -> Iterator[ListedRun]:
    for number, row in enumerate(_rows(table.file)):
        if number == 0:
            continue
        cells = {name: _cell(row, at) for at, name in enumerate(table.names)}
        name = cells.get("Name") or f"row {number + 1}"
        about = _common(table, name, **_told(cells))
        about["key"] = about["part"] = f"{table.digest}/{cells.get('ID') or number}"
        about.pop("file")
        values = {key: _value(text) for key, text in cells.items() if key not in _TABLE and text != "" and key}
        yield ListedRun(**about, summary=values)


def _told(cells: dict[str, str]) -> dict[str, Any]:
    began, ended = _moment(cells.get("Created", "")), _moment(cells.get("End Time", ""))
    sweep = cells.get("Sweep", "").strip("-")
    runtime = _number(cells.get("Runtime", ""))
    told: dict[str, Any] = {
        "description": cells.get("Notes", "").strip("-") and cells["Notes"],
        "labels": (
            *(tag.strip() for tag in cells.get("Tags", "").split(",") if tag.strip()),
            *(f"{name}:{word}" for name, word in (("job_type", cells.get("Job Type")), ("sweep", sweep)) if word),
        ),
        "state": _STATES.get(cells.get("State", "").lower(), "finished"),
        "group": cells.get("Group", ""),
        "environment": {"user": cells.get("User", "")},
    }
    if began is not None:
        told["created_at"] = began
        told["ended_at"] = began + (runtime if runtime is not None and math.isfinite(runtime) else 0.0)
    if ended is not None:
        told["ended_at"] = ended
    return told


def _rows(file: Path) -> Iterator[list[str]]:
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as opened:
        try:
            yield from csv.reader(_lines(opened))
        except csv.Error as error:
            raise ValueError(str(error)) from error


def _lines(file: TextIO) -> Iterator[str]:
    """Yield lines of bounded length, without null characters, which csv.reader rejects."""
    while line := file.readline(MAX_LINE_CHARS):
        if len(line) == MAX_LINE_CHARS and not line.endswith("\n"):
            raise ValueError(f"a line has more than {MAX_LINE_CHARS} characters")
        yield line.replace("\0", "")


def _cell(row: Sequence[str], at: Optional[int]) -> str:
    return row[at].strip() if at is not None and at < len(row) else ""


def _number(text: str) -> Optional[float]:
    """Return the number in a cell; None for anything else."""
    if text in ("True", "true", "False", "false"):
        return float(text in ("True", "true"))
    try:
        return float(text) if text and "_" not in text else None
    except ValueError:
        return None


def _value(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found


def _moment(text: str) -> Optional[float]:
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()[:32]
