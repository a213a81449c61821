"""Find all faults of a rank table. The shape is chosen as HCCL does: by `version`, then by `deploy_mode`."""

from __future__ import annotations

import json
from typing import Any

from danlu.launch.ranktable.check_old import check_b, check_c
from danlu.launch.ranktable.check_versioned import check_versioned
from danlu.launch.ranktable.faults import Chip, Fault, Item, Reader, Shape, scalars

STATUSES = ("completed", "initializing")
VERSIONS = ("1.0", "1.2")
_COMPLETED = 'expected "completed"'


def check(text: str, *, file_name: str = "hccl.json", chip: Chip | None = None) -> list[Fault]:
    """Return all faults; none for a valid table. With `chip`, the rules of that chip are checked too."""
    reader = Reader()
    if not file_name.endswith(".json"):
        reader.add("", file_name, "HCCL opens only files whose name ends in .json")
    values = read_object(text, reader)
    if values is not None:
        _check_table(reader, Item("", values), chip)
    return list(dict.fromkeys(reader.faults))


def shape_of(values: dict[str, Any]) -> Shape:
    """The shape that HCCL would read the table as."""
    if "version" in values:
        return Shape.A
    return Shape.B if "deploy_mode" in values else Shape.C


def read_object(text: str, reader: Reader) -> dict[str, Any] | None:
    """Parse the text; None, and a fault, if it is not a JSON object."""
    if not text.strip():
        reader.add("", text, "the file is empty; expected a rank table")
        return None
    repeated: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in found]
        repeated.extend(name for name in dict.fromkeys(names) if names.count(name) > 1)
        return dict(found)

    try:
        values = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        reader.faults.append(Fault("", f"line {error.lineno}, column {error.colno}", f"not JSON: {error.msg}"))
        return None
    except (RecursionError, ValueError) as error:
        reader.faults.append(Fault("", "unreadable", f"not JSON that can be read: {error}"))
        return None
    if not isinstance(values, dict):
        reader.add("", values, "expected one JSON object")
        return None
    for name in dict.fromkeys(repeated):
        reader.faults.append(Fault(name, "twice in one object", "parsers differ in which one they use; keep one"))
    return values


def _check_table(reader: Reader, table: Item, chip: Chip | None) -> None:
    _check_status(reader, table)
    shape = shape_of(table.values)
    if shape is Shape.A:
        version = reader.text(table, "version", 'expected "1.0"')
        if version is not None and version not in VERSIONS:
            reader.add("version", version, _other_version(version))
        if version in VERSIONS:
            check_versioned(reader, table, version=version, chip=chip)
    elif shape is Shape.B:
        check_b(reader, table)
    else:
        check_c(reader, table)
    _check_scalars(reader, table)


def _check_status(reader: Reader, table: Item) -> None:
    status = reader.text(table, "status", _COMPLETED)
    if status == "initializing":
        reader.add("status", status, f"the table is not finished, HCCL would wait up to 30 minutes; {_COMPLETED}")
    elif status is not None and status not in STATUSES:
        reader.add("status", status, _COMPLETED)


def _other_version(version: str) -> str:
    if version == "1.1":
        return "a table of processors and chips together, which is not checked here; expected 1.0 or 1.2"
    if version == "2.0":
        return "for Atlas 350, 850 and 950 only, which is not checked here; expected 1.0 or 1.2"
    return "HCCL does not support this version; expected 1.0 or 1.2"


def _check_scalars(reader: Reader, table: Item) -> None:
    """Report values that are not strings, in fields that no other check has reported."""
    told = {fault.path for fault in reader.faults}
    for path, value in scalars(table.values):
        if not isinstance(value, str) and path not in told:
            reader.add(path, value, "every value must be a string; put it in quotes")
