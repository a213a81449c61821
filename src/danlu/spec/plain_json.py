"""Validation of free-form values: only what JSON can represent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 50


def check_plain_json(values: dict[str, Any]) -> dict[str, Any]:
    """Return the mapping unchanged. Raise ValueError that names the first value that is not JSON."""
    for name, value in values.items():
        _check(value, _text(name, name), depth=1)
    return values


def without_scalars(value: object, depth: int = 0) -> object:
    """Convert NumPy scalars and zero-dimensional tensors to numbers, also in mappings and lists."""
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        return {name: without_scalars(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, (list, tuple)) and depth < MAX_DEPTH:
        return [without_scalars(inner, depth + 1) for inner in value]
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        return value.item()  # type: ignore[attr-defined]
    return value


def from_label_value(values: object) -> object:
    """Convert a list of `{"label": NAME, "value": VALUE}` to a mapping, and scalars to numbers. Raise ValueError."""
    values = without_scalars(values)
    if not isinstance(values, (list, tuple)):
        return values
    made: dict[str, Any] = {}
    for number, item in enumerate(values):
        if not isinstance(item, dict) or set(item) != {"label", "value"} or not isinstance(item["label"], str):
            raise ValueError(f"{number}: expected {{label: NAME, value: VALUE}}, got {str(item)[:60]!r}")
        if item["label"] in made:
            raise ValueError(f"{number}: the label {item['label'][:60]!r} appears twice")
        made[item["label"]] = item["value"]
    return made


def _check(value: object, place: str, *, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"{place[:40]}... is nested more than {MAX_DEPTH} deep")
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise ValueError(f"{place}: the name {name!r} is not text; put it in quotes")
            _check(inner, f"{place}.{_text(name, place)}", depth=depth + 1)
    elif isinstance(value, (list, tuple)):
        for number, inner in enumerate(value):
            _check(inner, f"{place}.{number}", depth=depth + 1)
    elif isinstance(value, str):
        _text(value, place)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place}: {value} is not a number in JSON; put it in quotes")
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise ValueError(f"{place}: {value!r} is not a JSON value; put it in quotes")


def _text(text: str, place: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"{place!r}: lone surrogates are not allowed")
    return text
