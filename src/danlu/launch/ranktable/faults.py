"""Faults of a rank table, and a reader that collects them."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from danlu.spec.states import Word

_LONGEST_NUMBER = 9
_LONGEST_VALUE = 60


class Shape(Word):
    """Shapes of rank tables: see docs/formats/ranktable.md."""

    A = "A"
    B = "B"
    C = "C"


class Chip(Word):
    """Chips with different rules. A table does not name its chip."""

    ASCEND_910 = "910"
    ASCEND_910B = "910b"


class Fault(NamedTuple):
    path: str
    """Path of the value, such as `server_list[0].device[1].rank_id`; empty for the whole file."""

    value: str
    """The value as JSON, shortened; or `missing`."""

    right: str
    """What is wrong, and what is expected."""

    def __str__(self) -> str:
        return f"{self.path or 'file'}: {self.value}; {self.right}"


class Item(NamedTuple):
    """An object of the table and its path."""

    path: str
    values: dict[str, Any]

    def at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


@dataclass
class Reader:
    """Reads fields and collects faults. A field that cannot be read is None and one fault."""

    faults: list[Fault] = field(default_factory=list)

    def add(self, path: str, value: object, right: str) -> None:
        self.faults.append(Fault(path, shown(value), right))

    def add_missing(self, path: str, right: str) -> None:
        self.faults.append(Fault(path, "missing", right))

    def text(self, item: Item, name: str, right: str, *, may_be_missing: bool = False) -> str | None:
        if name not in item.values:
            if not may_be_missing:
                self.add_missing(item.at(name), right)
            return None
        value = item.values[name]
        if not isinstance(value, str):
            wanted = f"{json.dumps(str(value))} in quotes" if _is_number(value) else "text in quotes"
            self.add(item.at(name), value, f"every value must be a string; expected {wanted}")
            return None
        return value

    def number(self, item: Item, name: str, right: str, *, may_be_missing: bool = False) -> int | None:
        value = self.text(item, name, right, may_be_missing=may_be_missing)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER):
            self.add(item.at(name), value, f"not a whole number; {right}")
            return None
        return int(value)

    def items(self, item: Item, name: str, right: str) -> list[Item]:
        """The objects of a list; a fault if it is empty."""
        found = item.values.get(name)
        if name not in item.values:
            self.add_missing(item.at(name), right)
            return []
        if not isinstance(found, list) or not found:
            self.add(item.at(name), found, right)
            return []
        for number, inner in enumerate(found):
            if not isinstance(inner, dict):
                self.add(f"{item.at(name)}[{number}]", inner, "expected an object in braces")
        return [Item(f"{item.at(name)}[{k}]", inner) for k, inner in enumerate(found) if isinstance(inner, dict)]

    def addresses(self, item: Item, name: str, text: str) -> list[str]:
        """The addresses of a comma-separated list; a fault for each part that is not an address."""
        parts = text.split(",")
        for part in parts:
            if not is_address(part):
                self.add(item.at(name), text, f"{shown(part)} is not an IPv4 or IPv6 address; 192.168.1.8 is one")
        return [str(ipaddress.ip_address(part)) for part in parts if is_address(part)]

    def unique(self, found: dict[Any, str], key: object, path: str, right: str) -> None:
        """Record a value and its path in `found`; a fault if it is there already."""
        if key in found:
            self.add(path, key, f"it is listed at {found[key]} as well; {right}")
        else:
            found[key] = path


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def scalars(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """All values that are neither lists nor objects, each with its path."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from scalars(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from scalars(inner, f"{path}[{number}]")
    else:
        yield path, value


def shown(value: object) -> str:
    """A value as JSON, shortened to fit on a line."""
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
