"""Read another platform's JSON field by field, so that unknown fields can be reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from danlu.errors import InvalidSpec
from danlu.spec.sentences import show

UNSET: tuple[object, ...] = (None, "", [], {}, False, "false", "False")


class Converted(NamedTuple):
    values: dict[str, Any]
    """The fields of a job."""

    unused: list[str]
    """Fields of the file that have a value but no effect in Danlu."""


class Fields:
    """An object in the file."""

    def __init__(self, values: Any, place: str = "") -> None:
        if not isinstance(values, Mapping):
            raise InvalidSpec(f"{place or 'the file'}: expected an object, got {show(values)[:200]}")
        self._values = dict(values)
        self._place = place
        self._inner: list[Fields] = []
        self._unused: list[str] = []

    def take(self, name: str, default: Any = None) -> Any:
        """Return the value of a field, or the default when it has none."""
        value = self._values.pop(name, None)
        return default if value is None else value

    def text(self, name: str) -> str:
        value = self.take(name, "")
        if not isinstance(value, (str, int, float)):
            self.reject(name, "text", got=value)
        return str(value)

    def number(self, name: str, default: int) -> int:
        value = self.take(name, default)
        try:
            return int(value)
        except (TypeError, ValueError):
            self.reject(name, "a whole number", got=value)

    def truth(self, name: str) -> bool:
        value = str(self.take(name, False)).lower()
        if value not in ("true", "false", "yes", "no"):
            self.reject(name, "true or false", got=value)
        return value in ("true", "yes")

    def object(self, name: str) -> Fields:
        return self._add(Fields(self.take(name, {}), self._named(name)))

    def objects(self, name: str) -> list[Fields]:
        rows = self.take(name, [])
        if not isinstance(rows, list):
            self.reject(name, "a list", got=rows)
        return [self._add(Fields(row, f"{self._named(name)}.{number}")) for number, row in enumerate(rows)]

    def not_used(self, names: Iterable[str]) -> None:
        """Mark fields as known and without effect in Danlu; those that have a value are reported."""
        for name in names:
            if self._values.pop(name, None) not in UNSET:
                self._unused.append(self._named(name))

    def tell_unused(self, told: str) -> None:
        self._unused.append(told)

    def left(self) -> list[str]:
        """Return the fields that were not read."""
        own = [self._named(name) for name in self._values]
        return [*own, *(name for one in self._inner for name in one.left())]

    def unused(self) -> list[str]:
        return [*self._unused, *(name for one in self._inner for name in one.unused())]

    def reject(self, name: str, expected: str, *, got: Any) -> NoReturn:
        place = self._named(name)
        told = f"expected {expected}, got {show(got)[:200]}"
        raise InvalidSpec(f"{place}: {told}", fields={place: told})

    def _named(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def _add(self, inner: Fields) -> Fields:
        self._inner.append(inner)
        return inner


def pairs(rows: Iterable[Fields], *, key: str, value: str) -> dict[str, Any]:
    """A list of objects such as `{name: ..., value: ...}` as a mapping."""
    return {row.text(key): row.take(value, "") for row in rows}
