"""All points of a run as a file for elsewhere."""

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


class Format(Word):
    CSV = "csv"
    PARQUET = "parquet"


def csv_rows(state: ServerState, run: RunRow) -> Iterator[bytes]:
    """The file in pieces. An epoch that is not there is empty; a value may be `nan` or `inf`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for type_, name, branch, points, is_hidden in _all(state, run):
        for first in range(0, len(points), ROWS_AT_ONCE):
            part = points.take(slice(first, first + ROWS_AT_ONCE))  # type: ignore[arg-type]
            epochs = ["" if math.isnan(epoch) else epoch for epoch in part.epochs.tolist()]
            hidden = is_hidden[first : first + ROWS_AT_ONCE].tolist()
            columns = zip(part.steps.tolist(), epochs, part.times.tolist(), part.values.tolist(), hidden, strict=True)
            writer.writerows(
                (type_, name, step, epoch, time, value, branch, int(gone)) for step, epoch, time, value, gone in columns
            )
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
            "Parquet needs pyarrow on the server: pip install 'danlu[parquet]'; format=csv works without"
        ) from error
    return _parquet(state, run, pyarrow)


def _parquet(state: ServerState, run: RunRow, pyarrow: Any) -> Iterator[bytes]:
    """Empty pieces while the file is written: whoever waits for a turn may have one in between."""
    text, number = pyarrow.string(), pyarrow.float64()
    kinds = (text, text, pyarrow.int64(), number, number, number, pyarrow.int32(), pyarrow.bool_())
    schema = pyarrow.schema(list(zip(COLUMNS, kinds, strict=True)))
    with tempfile.TemporaryFile() as file:
        with pyarrow.parquet.ParquetWriter(file, schema) as writer:
            for type_, name, branch, points, is_hidden in _all(state, run):
                epochs = pyarrow.array(points.epochs, mask=np.isnan(points.epochs))
                count = len(points)
                arrays = [[type_] * count, [name] * count, points.steps, epochs, points.times, points.values]
                columns = [*arrays, [branch] * count, is_hidden]
                made = [pyarrow.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
                writer.write_table(pyarrow.Table.from_arrays(made, schema=schema))
                yield b""
        file.seek(0)
        while piece := file.read(1 << 20):
            yield piece


def _all(state: ServerState, run: RunRow) -> Iterator[tuple[str, str, int, Points, Any]]:
    """Every stretch of every series. No session is open while somebody has one in their hands."""
    with state.database.reading() as session:
        found = runs.series_of(session, run.number)
    for series in found:
        with state.database.reading() as session:
            stretches = state.metrics.reader.all_points(session, run, series)
        for branch, points, is_hidden in stretches:
            yield series.type, series.name, branch, points, is_hidden
