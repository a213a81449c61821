"""Exports all points of a run as a file."""

from __future__ import annotations

import csv
import io
import math
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from danlu.errors import MissingExtra
from danlu.server.state import ServerState
from danlu.spec.states import Word
from danlu.store.metrics.points import Points
from danlu.store.queries import runs
from danlu.store.sql.run_tables import RunRow

COLUMNS = ("type", "name", "step", "epoch", "time", "value", "branch", "is_hidden")
ROWS_AT_ONCE = 5_000
PIECE_CHARS = 256 << 10
SERIES_AT_ONCE = 200
GROUP_ROWS = 100_000
"""Minimum of a row group of Parquet: one for each of 10,000 short series would be slow to write and to read."""


class Format(Word):
    CSV = "csv"
    PARQUET = "parquet"


def csv_rows(state: ServerState, run: RunRow) -> Iterator[bytes]:
    """The file in pieces. A missing epoch is empty; a value may be `nan` or `inf`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for type_, name, branch, points, is_hidden in _all(state, run):
        for first in range(0, len(points), ROWS_AT_ONCE):
            part = points.take(slice(first, first + ROWS_AT_ONCE))
            epochs = ["" if math.isnan(epoch) else epoch for epoch in part.epochs.tolist()]
            hidden = is_hidden[first : first + ROWS_AT_ONCE].tolist()
            columns = zip(part.steps.tolist(), epochs, part.times.tolist(), part.values.tolist(), hidden, strict=True)
            writer.writerows(
                (type_, name, step, epoch, time, value, branch, int(gone)) for step, epoch, time, value, gone in columns
            )
            if text.tell() >= PIECE_CHARS:
                yield text.getvalue().encode()
                text.seek(0)
                text.truncate()
    if text.tell():
        yield text.getvalue().encode()


def parquet(state: ServerState, run: RunRow) -> Iterator[bytes]:
    """The file in pieces, one row group per stretch. Raise MissingExtra at once where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "Parquet needs pyarrow on the server: pip install 'danlu[parquet]', or use format=csv"
        ) from error
    return _parquet(state, run, pyarrow)


def _parquet(state: ServerState, run: RunRow, pyarrow: Any) -> Iterator[bytes]:
    """Yields empty pieces while the file is written, so that other users get their turn in between."""
    text, number = pyarrow.string(), pyarrow.float64()
    kinds = (text, text, pyarrow.int64(), number, number, number, pyarrow.int32(), pyarrow.bool_())
    schema = pyarrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    waiting: list[Any] = []
    num_rows = 0
    with tempfile.TemporaryFile() as file:
        with pyarrow.parquet.ParquetWriter(file, schema) as writer:
            for type_, name, branch, points, is_hidden in _all(state, run):
                epochs = pyarrow.array(points.epochs, mask=np.isnan(points.epochs))
                count = len(points)
                arrays = [[type_] * count, [name] * count, points.steps, epochs, points.times, points.values]
                columns = [*arrays, [branch] * count, is_hidden]
                made = [pyarrow.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
                waiting.append(pyarrow.Table.from_arrays(made, schema=schema))
                num_rows += count
                if num_rows >= GROUP_ROWS or len(waiting) >= SERIES_AT_ONCE:
                    waiting = [pyarrow.concat_tables(waiting).combine_chunks()]
                    yield b""
                if num_rows >= GROUP_ROWS:
                    writer.write_table(waiting.pop())
                    num_rows = 0
            if waiting:
                writer.write_table(pyarrow.concat_tables(waiting))
        file.seek(0)
        while piece := file.read(1 << 20):
            yield piece


def _all(state: ServerState, run: RunRow) -> Iterator[tuple[str, str, int, Points, Any]]:
    """Every stretch of every series. No session is open while the caller uses one."""
    reader = state.metrics.reader
    with state.database.reading() as session:
        found = runs.series_of(session, run.number)
        opened = reader.open_run(session, run)
    for first in range(0, len(found), SERIES_AT_ONCE):
        with state.database.reading() as session:
            some = reader.find(session, opened, found[first : first + SERIES_AT_ONCE])
        for series, branch, points, is_hidden in reader.all_points(opened, some):
            yield series.type, series.name, branch, points, is_hidden
