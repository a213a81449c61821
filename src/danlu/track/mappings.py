"""`run.hparams` and `run.summary`: dictionaries that record every change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Callable, Optional

from danlu.track.values import MAX_KEY, MAX_TEXT, as_mapping, brief, text_of
from danlu.track.warn import warn_once

Note = Callable[[dict[str, Any], list[str]], None]
"""Called with the items that were set and the keys that were removed."""


class Noted(MutableMapping[str, Any]):
    """A mapping that reports its changes. Mutating a value in place is not noticed: assign it again."""

    def __init__(self, field: str, values: Optional[Mapping[str, Any]], *, note: Note) -> None:
        self._field = field
        self._values: dict[str, Any] = _named(values or {})
        self._note = note

    def __getitem__(self, name: str) -> Any:
        return self._values[_key(name)]

    def __setitem__(self, name: str, value: Any) -> None:
        new = {_key(name): value}
        self._values.update(new)
        self._note(new, [])

    def __delitem__(self, name: str) -> None:
        key = _key(name)
        del self._values[key]
        self._note({}, [key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        shown = (f"{name!r}: {brief(value, MAX_TEXT)}" for name, value in self._values.items())
        return f"{{{', '.join(shown)}}}"

    def update(self, /, *args: Any, **values: Any) -> None:
        """Like `dict.update`, with one record for all items; takes the same objects as `track.start`, too."""
        new = {**(_named(self._pairs(args[0])) if args else {}), **values}
        if new:
            self._values.update(new)
            self._note(new, [])

    def replace(self, values: Mapping[str, Any]) -> None:
        """Replace all items."""
        new = _named(values)
        gone = [name for name in self._values if name not in new]
        self._values = new
        self._note(new, gone)

    def _pairs(self, given: Any) -> dict[Any, Any]:
        if as_mapping(given) is None:
            try:
                return dict(given)  # pairs of key and value
            except Exception:
                pass
        return taken(self._field, given)


def _named(values: Mapping[Any, Any]) -> dict[str, Any]:
    return {_key(name): value for name, value in values.items()}


def _key(name: Any) -> str:
    """Return a key as plain text, so that none of its own methods is called when it is looked up."""
    return str.__str__(name) if issubclass(type(name), str) else text_of(name, MAX_KEY)


def taken(field: str, values: Any) -> dict[str, Any]:
    """Convert a user's object to a mapping; warn once when it is not possible."""
    found = as_mapping(values)
    if found is None:
        warn_once(field, f"{field} takes a mapping, a Namespace or a data class, not {brief(values)}")
    return found or {}
