"""Logged events in a `.wandb` file: history, system metrics, console output and alerts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from danlu.importing import protobuf as pb
from danlu.importing.records import UNREADABLE, Alert, Event, Medium, Points, Printed, Problems
from danlu.importing.transaction_log import Damage
from danlu.importing.wandb import log
from danlu.importing.wandb.values import media_of

MAX_DEPTH = 16
_STREAMS = {0: 2, 1: 1}  # STDERR, STDOUT


def events_of(file: Path, *, began: float, problems: Problems) -> Iterator[Event]:
    """Yield the events of a log in order. Steps are counted if the log has none."""
    reader = _Reader(file.parent / "files", began, problems)
    for record in log.read_log(file, Damage()):
        try:
            yield from reader.read(record)
        except UNREADABLE as error:
            problems.add(f"a record of kind {record.kind} is damaged: {error}")


class _Reader:
    def __init__(self, files: Path, began: float, problems: Problems) -> None:
        self._files, self._began, self._problems = files, began, problems
        self._next_step = 0
        self._at = began

    def read(self, record: log.Record) -> Iterator[Event]:
        if record.kind == log.HISTORY:
            yield from self._history(record.data)
        elif record.kind == log.STATS:
            yield from self._stats(record.data)
        elif record.kind in (log.OUTPUT_RAW, log.OUTPUT):
            yield from self._output(record.data)
        elif record.kind == log.ALERT:
            title, text, level = (pb.text(pb.sub(record.data, number)) for number in (1, 2, 3))
            yield Alert(title, text, level, max(0, self._next_step - 1), self._at)

    def _history(self, data: bytes) -> Iterator[Event]:
        values: dict[str, Any] = {}
        for names, json in log.items(data):
            try:
                log.put(values, names, value=log.value_of(json))
            except ValueError:
                self._problems.add(f"history {'.'.join(names)[:80]!r} has a value that is no JSON")
        step = self._step(data, values.get("_step"))
        at = values.get("_timestamp")
        self._at = float(at) if isinstance(at, (int, float)) and math.isfinite(at) else self._at
        numbers: dict[str, float] = {}
        others: list[tuple[str, Any]] = []
        for name, value in values.items():
            if name not in ("_step", "_timestamp", "_runtime", "_wandb"):
                _sort(name, value, numbers=numbers, others=others)
        if numbers:
            epoch = numbers.get("epoch")
            yield Points(numbers, step, self._at, epoch if epoch is not None and math.isfinite(epoch) else None)
        for name, value in others:
            for kind, called, content in media_of(name, value, files=self._files, problems=self._problems):
                yield Medium(kind, called, content, step, self._at)

    def _step(self, data: bytes, named: Any) -> int:
        of_record = pb.sub(data, 2)
        step: Optional[int] = None
        if isinstance(of_record, bytes):
            step = pb.signed(pb.sub(of_record, 1) or 0)
        elif isinstance(named, (int, float)) and math.isfinite(named):
            step = int(named)
        step = self._next_step if step is None else step
        self._next_step = step + 1
        return step

    def _stats(self, data: bytes) -> Iterator[Event]:
        at = pb.seconds(pb.sub(data, 2)) or self._at
        numbers: dict[str, float] = {}
        for names, json in log.items(data, (3,)):
            try:
                value = log.value_of(json)
            except ValueError:
                continue
            _sort(".".join(names)[:200], value, numbers=numbers, others=[])
        if numbers:
            yield Points(numbers, int(max(0.0, min(at - self._began, 1e9))), at, type="system")

    def _output(self, data: bytes) -> Iterator[Event]:
        stream = _STREAMS.get(pb.sub(data, 1) or 0, 1)
        line = pb.sub(data, 3)
        if isinstance(line, bytes) and line:
            self._at = pb.seconds(pb.sub(data, 2)) or self._at
            yield Printed(stream, self._at, line)


def _sort(name: str, value: Any, *, numbers: dict[str, float], others: list[tuple[str, Any]], depth: int = 0) -> None:
    """Split values into numbers and others; a mapping without a type is flattened, as on W&B's pages."""
    if isinstance(value, (bool, int, float)):
        try:
            numbers[name] = float(value)
        except OverflowError:
            others.append((name, str(value)))
    elif value in ("NaN", "Infinity", "-Infinity"):
        numbers[name] = float(value)
    elif isinstance(value, dict) and "_type" not in value and depth < MAX_DEPTH:
        for inner, one in value.items():
            _sort(f"{name}.{inner}"[:1000], one, numbers=numbers, others=others, depth=depth + 1)
    elif value is not None:
        others.append((name, value))
