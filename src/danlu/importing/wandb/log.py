"""The `.wandb` file of a run: a transaction log of protocol buffers `Record` (see decision 0286).

Fields of a record that are used: history 2, summary 3, output 4, config 5, stats 7, artifact 8, alert 10, metric 12,
output_raw 13, run 17, exit 18, use_artifact 25, environment 26.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from danlu.importing import protobuf as pb
from danlu.importing.files import load_json
from danlu.importing.transaction_log import Damage, Magic, read_records

MAGIC = Magic(b":W&B", 0xBEE1, (0,), "a .wandb file")
HISTORY, SUMMARY, OUTPUT, CONFIG, STATS, ARTIFACT, ALERT, METRIC = 2, 3, 4, 5, 7, 8, 10, 12
OUTPUT_RAW, RUN, EXIT, USE_ARTIFACT, ENVIRONMENT = 13, 17, 18, 25, 26
KINDS = {HISTORY, SUMMARY, OUTPUT, CONFIG, STATS, ARTIFACT, ALERT, METRIC, OUTPUT_RAW, RUN, EXIT} | {
    USE_ARTIFACT,
    ENVIRONMENT,
}


class Record(NamedTuple):
    kind: int
    data: bytes


def read_log(path: Path, damage: Damage) -> Iterator[Record]:
    """Yield the used records of a file in order. Raise NotALog when it is not a .wandb file."""
    with path.open("rb") as file:
        for data in read_records(file, MAGIC, damage=damage):
            try:
                found = next((Record(kind, value) for kind, value in pb.fields(data) if kind in KINDS), None)
            except pb.BadMessage:
                damage.places.append(file.tell())
                continue
            if found is not None and isinstance(found.data, bytes):
                yield found


def items(data: bytes, numbers: tuple[int, ...] = (1,)) -> Iterator[tuple[list[str], bytes]]:
    """Yield path of keys and JSON of each item of a history, config, summary or stats record."""
    for number, item in pb.fields(data):
        if number not in numbers or not isinstance(item, bytes):
            continue
        key, nested, json = "", [], b""
        for part, value in pb.fields(item):
            if part == 16:
                json = value
            elif part == 2:
                nested.append(pb.text(value))
            elif part == 1:
                key = pb.text(value)
        yield nested or [key], json


def value_of(json: Any) -> Any:
    """Parse the value of an item. Raise ValueError when it is not JSON."""
    return load_json(json if isinstance(json, bytes) else b"")


def changed(values: dict[str, Any], data: bytes) -> list[str]:
    """Apply a config or summary record. Return the keys whose values cannot be read."""
    wrong = []
    for names, json in items(data):
        try:
            put(values, names, value=value_of(json))
        except ValueError:
            wrong.append(".".join(names)[:80])
    for names, _ in items(data, (2,)):
        _remove(values, names)
    return wrong


def put(values: dict[str, Any], names: list[str], *, value: Any) -> None:
    """Set a nested value; values on the way that are not mappings are replaced by mappings."""
    for name in names[:-1][:32]:
        inner = values.get(name)
        if not isinstance(inner, dict):
            inner = values[name] = {}
        values = inner
    values[names[-1]] = value


def _remove(values: dict[str, Any], names: list[str]) -> None:
    for name in names[:-1]:
        inner = values.get(name)
        if not isinstance(inner, dict):
            return
        values = inner
    values.pop(names[-1], None)
