"""Files whose parts are whole and whose shape is nobody's: the reader names what it cannot read, and goes on."""

from __future__ import annotations

import io
import json
import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.importing.test_trackio import AT, TABLES
from tests.support.foreign_files import (
    SWANLAB_HEADER,
    WANDB_HEADER,
    double_field,
    field,
    number_field,
    transaction_log,
)

from danlu.importing.journals import header_of, write
from danlu.importing.records import ForeignRun, Source
from danlu.importing.swanlab import SwanlabFolders
from danlu.importing.tensorboard import EventFolders
from danlu.importing.trackio import TrackioProjects
from danlu.importing.wandb.folders import WandbFolders
from danlu.journal.event_files import masked_crc32c

WORDS = (b"acc", b"images", b"hparams", b"histograms", b"pr_curves", b"text", b"\xff\xfe", b"", b"\0" * 8)
NUMBERS = (1, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13, 14, 16, 19)
MISSHAPEN: tuple[Any, ...] = (
    {"_type": "images", "images": 5},
    {"_type": "images/separated", "filenames": [5, None], "captions": 5},
    {"_type": "image-file", "path": {}},
    {"_type": "histogram", "values": [1], "packedBins": {}},
    {"_type": "histogram", "values": [None], "bins": [None, {}]},
    {"_type": "table", "path": []},
    {"_type": []},
    {"_type": "trackio.histogram"},
    {"_type": "trackio.table", "_value": [5]},
    {"_type": "trackio.table", "_value": 5},
    {"_type": "trackio.image"},
    [1e999, {}],
    {},
    [],
)


def message(random: Random, depth: int = 0) -> bytes:
    """Fields of any number and kind; messages in messages."""
    found = b""
    for _ in range(random.randint(0, 5)):
        number, kind = random.choice(NUMBERS), random.randint(0, 3)
        if kind == 0:
            found += number_field(number, random.choice([0, 1, 300, 2**63 - 1]))
        elif kind == 1:
            found += double_field(number, random.choice([0.0, 1.5, float("nan"), float("inf"), 1e300]))
        elif depth < 6 and random.random() < 0.7:
            found += field(number, message(random, depth + 1))
        else:
            found += field(number, random.choice(WORDS))
    return found


def event_file(events: Sequence[bytes]) -> bytes:
    found = b""
    for data in events:
        head = struct.pack("<Q", len(data))
        found += head + struct.pack("<I", masked_crc32c(head)) + data + struct.pack("<I", masked_crc32c(data))
    return found


def brought(source: Source) -> list[ForeignRun]:
    """Each run of a source, written as a journal."""
    runs = list(source.runs())
    for run in runs:
        write(run, header_of(run, id="run-" + "a" * 26, project=None), file=io.BytesIO())
    return runs


@pytest.mark.parametrize("number", range(40))
def test_messages_of_any_shape(tmp_path: Path, number: int) -> None:
    random = Random(number)
    good = field(5, field(1, field(1, "good") + b"\x15" + struct.pack("<f", 1.0)))
    events = [*(message(random) for _ in range(20)), number_field(1, 5), good]
    file = tmp_path / "events.out.tfevents.1.here"
    file.write_bytes(event_file(events))
    (run,) = brought(EventFolders(file))
    assert any("damaged" in one for one in run.problems.all())
    assert any(getattr(event, "values", {}).get("good") == 1.0 for event in run.events())
    for suffix, header, made in (
        ("wandb", WANDB_HEADER, WandbFolders),
        ("swanlab", SWANLAB_HEADER, lambda path: SwanlabFolders(path, json.loads)),
    ):
        records = [field(random.choice(NUMBERS), message(random)) for _ in range(20)]
        start = [field(17, message(random)), field(10, message(random))]
        file = tmp_path / f"run-a.{suffix}"
        file.write_bytes(transaction_log(header, [*start, *records]))
        source = made(file)
        assert brought(source) or source.problems()


def test_values_of_any_shape(tmp_path: Path) -> None:
    values = b"".join(
        field(1, field(1, f"value{at}") + field(16, json.dumps(value))) for at, value in enumerate(MISSHAPEN)
    )
    records = [field(17, field(1, "abc")), field(2, values + field(1, field(1, "good") + field(16, "1")))]
    (tmp_path / "run-abc.wandb").write_bytes(transaction_log(WANDB_HEADER, records))
    (run,) = brought(WandbFolders(tmp_path))
    assert any(getattr(event, "values", {}).get("good") == 1.0 for event in run.events())
    with closing(sqlite3.connect(tmp_path / "vision.db")) as database, database:
        database.executescript(TABLES)
        text = json.dumps({**{f"value{at}": value for at, value in enumerate(MISSHAPEN)}, "good": 1})
        database.execute("INSERT INTO metrics VALUES (1, 'abc', ?, 'abc', 1, ?)", (AT, text))
    (run,) = brought(TrackioProjects(tmp_path))
    assert any(getattr(event, "values", {}).get("good") == 1.0 for event in run.events())
