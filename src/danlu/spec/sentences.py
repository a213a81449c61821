"""Convert validation errors to messages that say what was expected and what was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from difflib import get_close_matches
from typing import Any, Optional

LONGEST_VALUE, LONGEST_NAME = 60, 200
MAX_FIELDS = 50
"""Maximum number of reported errors. A request may contain a hundred thousand."""

PRIVATE = ("secrets", "password", "new_password", "current", "token")
"""Fields whose values are never shown."""

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
"""Examples for fields that are mappings."""


_DEVICES = {"gpu": "gpu", "gpus": "gpu", "accelerator": "gpu", "accelerators": "gpu", "npu": "npu", "npus": "npu"}
"""Names of the field `device` on other platforms -> device type."""

_OF_LENGTH = ("string_too_long", "string_too_short", "too_long", "too_short")


def field_errors(
    errors: Iterable[Mapping[str, Any]], known: Mapping[str, Iterable[str]], *, noun: str
) -> dict[str, str]:
    """Convert pydantic's errors to one message per invalid field. `known`: the fields at each dotted path."""
    fields: dict[str, str] = {}
    for item in errors:
        if len(fields) == MAX_FIELDS:
            fields["..."] = "there are more; correct these first"
            break
        place = [str(part)[:LONGEST_NAME] for part in item["loc"] if part != "[key]"]
        place = place or ["[key]"]  # a key may really be named [key]
        if item["type"] == "extra_forbidden":
            told = _unknown_field(noun, place, known.get(_pattern_of(place[:-1]), ()), item.get("input"))
        else:
            told = _sentence(item, place)
        fields.setdefault(".".join(place), told)
    return fields


def _unknown_field(noun: str, place: list[str], known: Iterable[str], value: object) -> str:
    name = place[-1].lower()
    if name in _DEVICES and "device" in known:
        number = value if isinstance(value, int) and not isinstance(value, bool) else 2
        return f"unknown field of {noun}; expected device: {_DEVICES[name]}:{number}"
    return f"unknown field of {noun}{suggestion(place[-1], known)}"


def _sentence(item: Mapping[str, Any], place: list[str]) -> str:
    kind, value, limits = str(item["type"]), item.get("input"), item.get("ctx", {})
    if kind == "missing":
        return "this field is required"
    if kind == "value_error":
        return str(item["msg"]).removeprefix("Value error, ")
    is_private = any(part in PRIVATE for part in place)
    kind = "string_too_long" if kind == "too_long" and isinstance(value, str) else kind
    bound = _bound(kind, limits)
    if bound is not None:
        given = str(len(value)) if kind in _OF_LENGTH and isinstance(value, Sized) else show(value)
        return f"expected {bound}" if is_private else f"expected {bound}, got {given}"
    given = "" if is_private else f", got {show(value)}"
    if kind == "enum":
        return _unknown(show(value), value, _choices(str(limits.get("expected", ""))))
    wanted = _wanted(kind, limits, _pattern_of(place))
    quotes = "; put it in quotes" if wanted == "text" and isinstance(value, (int, float)) else ""
    return f"expected {wanted}{given}{quotes}" if wanted else f"{item['msg']}{given}"


def _unknown(shown: str, value: object, choices: list[str]) -> str:
    near = _nearest(value, choices)
    if near is not None:
        return f"unknown value {shown}; did you mean {near!r}?"
    return f"expected one of {', '.join(sorted(choices))}, got {shown}"


def _pattern_of(place: list[str]) -> str:
    """The dotted path of a field, with `*` for names chosen by users."""
    return ".".join(["roles", "*", *place[2:]] if place[:1] == ["roles"] and len(place) > 1 else place)


def show(value: object) -> str:
    """A value for messages, as the user wrote it, shortened."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def suggestion(given: object, known: Iterable[str]) -> str:
    """The known word nearest to an unknown one, or all known words."""
    words = sorted(known)
    near = _nearest(given, words)
    if near is not None:
        return f"; did you mean {near!r}?"
    return f"; expected one of {', '.join(words)}" if words else ""


def _nearest(given: object, words: Iterable[str]) -> Optional[str]:
    lower = {word.lower(): word for word in words}
    near = get_close_matches(str(given).lower(), list(lower), n=1)
    return lower[near[0]] if near else None


def _bound(kind: str, limits: Mapping[str, Any]) -> Optional[str]:
    """The limit that a value exceeds; None for another kind of error."""
    told = {
        "greater_than_equal": "at least {ge}",
        "greater_than": "more than {gt}",
        "less_than_equal": "at most {le}",
        "less_than": "less than {lt}",
        "string_too_long": "at most {max_length} characters",
        "string_too_short": "at least {min_length} characters",
        "too_long": "at most {max_length} entries",
        "too_short": "at least {min_length} entries",
    }.get(kind)
    if told is None:
        return None
    return told.format_map({**limits, **_plain(limits)}).replace(" 1 entries", " 1 entry")


def _plain(limits: Mapping[str, Any]) -> dict[str, str]:
    """Texts of whole numbers, without `.0`."""
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
    """Parse allowed values, which pydantic writes as `'plain' or 'ddp'`."""
    return [part.strip(" '") for part in expected.replace(" or ", ",").split(",") if part.strip(" '")]
