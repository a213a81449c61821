"""Convert named tuples to JSON and back, checking every field.

Supported types: str, int, float, bool, Optional, tuple[X, ...], Mapping[str, X] and named tuples of these. Unknown
fields are ignored and missing ones get their default, so writer and reader may have different versions.
"""

from __future__ import annotations

import collections.abc
import functools
import json
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_SHOWN_CHARACTERS = 60


class Malformed(ValueError):
    """The JSON does not have the expected form; the message names the field."""


def encode(value: object) -> object:
    """Return a value that `json` can write."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: encode(field) for name, field in zip(value._fields, value)}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, collections.abc.Mapping):
        return {name: encode(item) for name, item in value.items()}
    return value


def decode(kind: type[T], value: object, path: str = "") -> T:
    """Return the named tuple that was encoded. `path` is the prefix of field names in error messages."""
    found: T = _named_tuple(kind, value, path)
    return found


def parse(text: Union[str, bytes]) -> dict[str, object]:
    """Read one JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"expected a JSON object: {error}") from error
    if not isinstance(found, dict):
        raise Malformed(f"expected a JSON object, got {_show(found)}")
    return found


def _named_tuple(kind: Any, value: object, path: str) -> Any:
    if not isinstance(value, dict):
        raise Malformed(f"{path or kind.__name__}: expected an object, got {_show(value)}")
    fields = {}
    for name, hint in _hints(kind).items():
        at = f"{path}.{name}" if path else name
        if name in value:
            fields[name] = _any(hint, value[name], at)
        elif name not in kind._field_defaults:
            raise Malformed(f"{at}: expected {_expected(hint)}, got nothing")
    return kind(**fields)


@functools.cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _any(hint: Any, value: object, path: str) -> object:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Union:
        return None if value is None else _any(arguments[0], value, path)
    if origin is tuple and isinstance(value, list):
        return tuple(_any(arguments[0], item, f"{path}[{index}]") for index, item in enumerate(value))
    if origin is collections.abc.Mapping and isinstance(value, dict):
        return {name: _any(arguments[1], item, f"{path}.{name}") for name, item in value.items()}
    if hasattr(hint, "_fields"):
        return _named_tuple(hint, value, path)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    # in Python a bool is an int; in JSON it is not
    if origin is None and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise Malformed(f"{path}: expected {_expected(hint)}, got {_show(value)}")


def _expected(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Union:
        return f"{_expected(arguments[0])} or null"
    if origin is tuple:
        return "a list"
    return _NAMES.get(hint, "an object")


def _show(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
