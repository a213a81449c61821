"""From a validation error to the sentence a person reads: what is wrong, with the value, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Optional

LONGEST_VALUE, LONGEST_NAME = 60, 200
MAX_FIELDS = 50
"""So many are told of at a time. Somebody may send a hundred thousand."""

PRIVATE = ("secrets", "password", "new_password", "current", "token")
"""Fields whose values are never repeated."""

_MAPPINGS = {
    "resources": "{device: gpu:2, memory: 16GB}",
    "roles": "{ps: {command: ...}, worker: {command: ..., count: 2}}",
    "roles.*": "{command: ..., count: 2}",
    "roles.*.resources": "{device: gpu:2, memory: 16GB}",
    "roles.*.env": "{BATCH: 64}",
    "code": "{path: .}",
    "data": "{store://main/images: images}",
    "env": "{BATCH: 64}",
    "hyperparameters": "{lr: 0.1}",
    "tags": "{team: vision}",
    "retry": "{max: 3, on: [lost]}",
    "secrets": "{HF_TOKEN: ...}",
    "spec": "{name: ..., command: ...}",
}
"""What is written where a mapping belongs."""


def field_errors(
    errors: Iterable[Mapping[str, Any]], known: Mapping[str, Iterable[str]], *, noun: str
) -> dict[str, str]:
    """One sentence per wrong field of pydantic's errors. `known`: the fields that a place has, by its dotted path."""
    fields: dict[str, str] = {}
    for item in errors:
        if len(fields) == MAX_FIELDS:
            fields["..."] = "there are more; correct these first"
            break
        place = [str(part)[:LONGEST_NAME] for part in item["loc"] if part != "[key]"]
        place = place or ["[key]"]  # a field may be called so
        if item["type"] == "extra_forbidden":
            told = f"not a field of {noun}{suggestion(place[-1], known.get(_pattern_of(place[:-1]), ()))}"
        else:
            told = _sentence(item, place)
        fields.setdefault(".".join(place), told)
    return fields


def _sentence(item: Mapping[str, Any], place: list[str]) -> str:
    kind, value, limits = str(item["type"]), item.get("input"), item.get("ctx", {})
    if kind == "missing":
        return "missing; it must be given"
    if kind == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    shown = "this" if any(part in PRIVATE for part in place) else show(value)
    bound = _bound("string_too_long" if kind == "too_long" and isinstance(value, str) else kind, limits)
    if bound is not None:
        return f"{shown} is {bound}"
    if kind == "enum":
        return f"{shown} is not known{suggestion(value, _choices(str(limits.get('expected', ''))))}"
    wanted = _wanted(kind, limits, _pattern_of(place))
    quotes = "; put it in quotes" if wanted == "text" and isinstance(value, (int, float)) else ""
    return f"{wanted} would be right, not {shown}{quotes}" if wanted else f"{item['msg']} ({shown})"


def _pattern_of(place: list[str]) -> str:
    """A dotted place; names that users choose are `*`."""
    return ".".join(["roles", "*", *place[2:]] if place[:1] == ["roles"] and len(place) > 1 else place)


def show(value: object) -> str:
    """A value as its writer knows it, short enough for a sentence."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def suggestion(given: object, known: Iterable[str]) -> str:
    """The known word nearest to one that is not, or all of them."""
    words = sorted(known)
    lower = {word.lower(): word for word in words}
    near = get_close_matches(str(given).lower(), list(lower), n=1)
    if near:
        return f"; did you mean {lower[near[0]]!r}?"
    return f"; known: {', '.join(words)}" if words else ""


def _bound(kind: str, limits: Mapping[str, Any]) -> Optional[str]:
    """Too much or too little; None for another kind of error."""
    told = {
        "greater_than_equal": "too small; at least {ge} would be right",
        "greater_than": "too small; more than {gt} would be right",
        "less_than_equal": "too large; at most {le} would be right",
        "less_than": "too large; less than {lt} would be right",
        "string_too_long": "too long; at most {max_length} characters would be right",
        "string_too_short": "too short; at least {min_length} characters would be right",
        "too_long": "too long; at most {max_length} entries would be right",
        "too_short": "too short; at least {min_length} entries would be right",
    }.get(kind)
    if told is None:
        return None
    return told.format_map({**limits, **_plain(limits)}).replace(" 1 entries", " 1 entry")


def _plain(limits: Mapping[str, Any]) -> dict[str, str]:
    """Numbers without a useless `.0`."""
    return {name: f"{value:.0f}" for name, value in limits.items() if isinstance(value, float) and value % 1 == 0}


def _wanted(kind: str, limits: Mapping[str, Any], place: str) -> str:
    if kind in ("model_type", "dict_type", "dict_attributes_type", "model_attributes_type"):
        return f"a mapping such as {_MAPPINGS[place]}" if place in _MAPPINGS else "a mapping"
    words = {
        "string_type": "text",
        "string_unicode": "text without lone surrogates",
        "string_pattern_mismatch": _pattern(str(limits.get("pattern"))),
        "int_type": "a whole number",
        "int_parsing": "a whole number",
        "int_parsing_size": "a smaller number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "float_parsing": "a number",
        "finite_number": "a finite number",
        "bool_type": "true or false",
        "bool_parsing": "true or false",
        "tuple_type": "a list",
        "list_type": "a list",
        "json_invalid": "JSON",
    }
    return words.get(kind, "")


def _pattern(pattern: str) -> str:
    return "64 hexadecimal digits" if pattern.endswith("{64}$") else f"text that matches {pattern}"


def _choices(expected: str) -> list[str]:
    """pydantic lists them as `'plain' or 'ddp'`."""
    return [part.strip(" '") for part in expected.replace(" or ", ",").split(",") if part.strip(" '")]
