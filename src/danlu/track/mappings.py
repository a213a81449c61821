"""`run.hparams` and `run.summary`: dictionaries that record every change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Callable, Optional

from danlu.track.values import as_mapping
from danlu.track.warn import warn_once

Note = Callable[[dict[str, Any], list[str]], None]
"""Called with the items that were set and the keys that were removed."""


class Noted(MutableMapping[str, Any]):
    """A mapping that reports its changes. Mutating a value in place is not noticed: assign it again."""

    def __init__(self, values: Optional[Mapping[str, Any]], note: Note) -> None:
        self._values: dict[str, Any] = {str(name): value for name, value in (values or {}).items()}
        self._note = note

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[str(name)] = value
        self._note({str(name): value}, [])

    def __delitem__(self, name: str) -> None:
        del self._values[name]
        self._note({}, [name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)

    def update(self, *args: Any, **values: Any) -> None:
        """Like `dict.update`, with one record for all items."""
        new = {str(name): value for name, value in dict(*args, **values).items()}
        if new:
            self._values.update(new)
            self._note(new, [])

    def replace(self, values: Mapping[str, Any]) -> None:
        """Replace all items."""
        new = {str(name): value for name, value in values.items()}
        gone = [name for name in self._values if name not in new]
        self._values = new
        self._note(new, gone)


def taken(field: str, values: Any) -> dict[str, Any]:
    """Convert a user's object to a mapping; warn once when it is not possible."""
    found = as_mapping(values)
    if found is None:
        warn_once(field, f"{field} takes a mapping, a Namespace or a data class, not {values!r:.80}")
    return found or {}
