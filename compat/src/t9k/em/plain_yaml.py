"""YAML of the old layout. Writes plain values only; reads whatever the original wrote, as plain values.

The original dumps Python objects (tuples, NumPy scalars). Here a tag never creates an object: its values are read.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

MAX_VALUES = 50_000_000
"""Limit of values in a file with anchors expanded; large files of metrics have some millions."""

_PYTHON = "tag:yaml.org,2002:python/"
_NUMPY_SCALARS = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
_KINDS = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q"}
_KINDS.update({"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "?"})


class Records(NamedTuple):
    """A list, read as far as possible."""

    found: list[Any]
    num_lost: int


def dump(value: Any) -> str:
    return str(yaml.safe_dump(plain(value), sort_keys=False, allow_unicode=True))


def load(text: str) -> Any:
    """Parse YAML. Raises yaml.YAMLError, and ValueError if its anchors expand to too many values."""
    found = yaml.load(text, _Loader)  # a SafeLoader: tags never create objects
    _count(found, {})
    return found


def _count(value: Any, known: dict[int, int]) -> int:
    """Count values with anchors expanded. Raises ValueError for too many, and for a cycle."""
    if not isinstance(value, (dict, list)):
        return 1
    if id(value) in known:
        count = known[id(value)]
    else:
        known[id(value)] = MAX_VALUES + 1  # a cycle expands forever
        inner = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        count = known[id(value)] = 1 + sum(_count(one, known) for one in inner)
    if count > MAX_VALUES:
        raise ValueError(f"it stands for more than {MAX_VALUES} values, or for itself")
    return count


def load_records(text: str) -> Records:
    """Parse a list of mappings, the format of metrics. Truncated and overwritten records are skipped and counted."""
    is_cut = bool(text) and not text.endswith("\n")  # its last number may be incomplete
    try:
        every = load(text) or []
    except (yaml.YAMLError, ValueError, RecursionError):
        every = [_one(f"- {piece}\n") for piece in ("\n" + text).split("\n- ")[1:]]
    if not isinstance(every, list):
        return Records([], 1)
    found = [one for one in (every[:-1] if is_cut else every) if is_record(one)]
    return Records(found, max(len(every), 1 if text.strip() else 0) - len(found))


def _one(text: str) -> Any:
    try:
        found = load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return found[0] if isinstance(found, list) and len(found) == 1 else None


def is_record(one: Any) -> bool:
    """Whether this is a record of metrics, with numbers that a journal can hold."""
    if not isinstance(one, dict) or not isinstance(one.get("value"), dict) or not isinstance(one.get("sequence"), dict):
        return False
    step, epoch = one["sequence"].get("step"), one["sequence"].get("epoch")
    if not all(isinstance(number, (int, float)) for number in (*one["value"].values(), step)):
        return False
    try:
        [float(number) for number in (*one["value"].values(), 0.0 if epoch is None else epoch)]
        return -(1 << 63) <= int(step) < 1 << 63
    except (TypeError, ValueError, OverflowError):  # an integer without end; a step that is infinite
        return False


def plain(value: Any) -> Any:
    """Convert NumPy scalars, enums and ordered dictionaries to plain values."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value)
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, Mapping):
        return {plain(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    item = getattr(value, "item", None)
    return plain(item()) if callable(item) else value


class _Loader(yaml.SafeLoader):
    """Reads Python's tags as the values below them."""


def _values(loader: _Loader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        found = loader.construct_sequence(node, deep=True)
        made = suffix.partition(":")[2]
        if made in _NUMPY_SCALARS:
            return _numpy_scalar(found)
        if made == "collections.OrderedDict":
            return _pairs(found)
        return found[0] if suffix.startswith("object/apply:") and len(found) == 1 else found  # an enum's value
    return loader.construct_mapping(node, deep=True) if isinstance(node, yaml.MappingNode) else None


def _pairs(found: list[Any]) -> Any:
    try:
        return dict(found[0]) if found else {}
    except (TypeError, ValueError):
        return found


def _numpy_scalar(found: list[Any]) -> Any:
    """Decode a scalar: its arguments are the type, such as `{args: [f8, ...]}`, and the bytes. Else return `found`."""
    if len(found) != 2 or not isinstance(found[0], dict) or not isinstance(found[1], bytes):
        return found
    kind = (found[0].get("args") or [None])[0]
    state: list[Any] = found[0].get("state") or []
    order = ">" if len(state) > 1 and state[1] == ">" else "<"
    try:
        return struct.unpack(f"{order}{_KINDS[str(kind)]}", found[1])[0]
    except (KeyError, struct.error):
        return found


_Loader.add_multi_constructor(_PYTHON, _values)
