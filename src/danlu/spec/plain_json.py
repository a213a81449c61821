"""What JSON can carry: checked where free-form values enter, so that they can be stored, shown and written anywhere."""

from __future__ import annotations

import math
from typing import Any

MAX_DEPTH = 50


def check_plain_json(values: dict[str, Any]) -> dict[str, Any]:
    """Return the mapping as it is. Raise ValueError that names the place of what JSON cannot carry."""
    for name, value in values.items():
        _check(value, _text(name, name), depth=1)
    return values


def from_label_value(values: object) -> object:
    """A list of `{"label": NAME, "value": VALUE}` as a mapping; anything else unchanged. Raise ValueError."""
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
        raise ValueError(f"{place}: {value!r} is neither text nor a number, list or mapping; put it in quotes")


def _text(text: str, place: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError(f"{place!r}: a lone surrogate cannot be in a text")
    return text
