"""Records that set fields of a run. The newest record of a key counts, independent of the order of arrival."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from danlu.journal.room import MAX_MAPPING_BYTES, Room, size_of
from danlu.spec.runs import check_folder
from danlu.store.metrics.decode import SetSeen
from danlu.store.queries import run_folders
from danlu.store.sql.run_tables import RunRow

MAX_ENVIRONMENT_BYTES = 2 << 20
MAX_AXES_BYTES = 256 << 10
MAX_MARKS = 20_000
"""Maximum number of keys of a run whose last change is remembered. Those of removed keys are dropped first."""

_SEARCHED = ("hparams", "summary")
_TEXTS = {"name": 200, "description": 100_000}

Mark = list[Any]
"""Branch and time of a record."""


class _Mapping:
    """A field of a run that is a mapping, while records are applied."""

    def __init__(self, column: str, values: Mapping[str, Any], max_bytes: int) -> None:
        self.column = column
        self.values = dict(values)
        self._room = Room(values, max_bytes=max_bytes)

    def put(self, key: str, value: Any) -> None:
        """Set a value; ignored if the field would exceed its size. Danlu's client never sends as much."""
        if self._room.take(key, size_of(key, value)):
            self.values[key] = value

    def remove(self, key: str) -> None:
        self._room.free(key)
        self.values.pop(key, None)


_MAPPINGS = {
    "hparams": ("hparams", MAX_MAPPING_BYTES),
    "summary": ("summary", MAX_MAPPING_BYTES),
    "environment": ("info", MAX_ENVIRONMENT_BYTES),
    "axes": ("axes", MAX_AXES_BYTES),
}
"""Field of a record -> column and its maximum size."""


def apply_sets(session: Session, run: RunRow, records: Sequence[SetSeen]) -> list[str]:
    """Apply records to a run; return the searchable fields that were set."""
    mappings: dict[str, _Mapping] = {}
    marks: dict[str, Mark] = dict(run.set_at)
    for seen in records:
        at: Mark = [seen.branch, seen.at]
        if seen.field in _MAPPINGS:
            if seen.field not in mappings:
                column, max_bytes = _MAPPINGS[seen.field]
                mappings[seen.field] = _Mapping(column, getattr(run, column), max_bytes)
            _apply(seen, at, mappings[seen.field], marks)
        elif marks.get(seen.field, [0, 0.0]) <= at and _set_field(session, run, seen.field, seen.value):
            marks[seen.field] = at
    for mapping in mappings.values():
        setattr(run, mapping.column, mapping.values)
    run.set_at = _without_surplus(marks, run)
    return [field for field in _SEARCHED if field in mappings]


def _apply(seen: SetSeen, at: Mark, mapping: _Mapping, marks: dict[str, Mark]) -> None:
    for key in (*seen.changed, *seen.removed):
        mark = f"{seen.field}.{key}"
        if marks.get(mark, [0, 0.0]) > at:
            continue  # a newer record was applied before
        marks[mark] = at
        if key in seen.changed:
            mapping.put(key, seen.changed[key])
        else:
            mapping.remove(key)


def _without_surplus(marks: dict[str, Mark], run: RunRow) -> dict[str, Mark]:
    if len(marks) <= MAX_MARKS:
        return marks
    present = {f"{field}.{key}" for field, (column, _) in _MAPPINGS.items() for key in getattr(run, column)}
    newest = sorted(marks, key=lambda mark: (mark in present or "." not in mark, marks[mark]))[-MAX_MARKS:]
    return {mark: marks[mark] for mark in newest}


def _set_field(session: Session, run: RunRow, field: str, value: Any) -> bool:
    if field in _TEXTS and isinstance(value, str) and (value.strip() or field == "description"):
        setattr(run, field, value[: _TEXTS[field]])
    elif field == "labels" and isinstance(value, list):
        run.labels = [str(label)[:100] for label in value[:100]]
    elif field == "total_steps" and (value is None or (isinstance(value, int) and 0 < value < 1 << 62)):
        run.total_steps = value
    elif field == "folder" and isinstance(value, str):
        try:
            run.folder = check_folder(value)
        except ValueError:
            return False
        run_folders.make(session, run.project_id, run.folder, run.seen_at)
    else:
        return False
    return True
