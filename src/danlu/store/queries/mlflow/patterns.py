"""Patterns of LIKE: `%` is any text and `_` any character; a `\\` before one of them, or before a `\\`, makes it plain.

Databases differ in escapes, and in what a `\\` at the end is; here it stands for itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

ESCAPE = "\\"
_PART = re.compile(r"\\(?P<plain>.)|(?P<char>.)", re.DOTALL)
_GLOB_WILD = {"%": "*", "_": "?"}


class _Part(NamedTuple):
    char: str
    is_wild: bool


def to_like(pattern: str) -> str:
    """The pattern for LIKE with ESCAPE, valid in every database."""
    return "".join(
        char if is_wild else f"{ESCAPE}{char}" if char in ("%", "_", ESCAPE) else char
        for char, is_wild in _parts(pattern)
    )


def to_glob(pattern: str) -> str:
    """The pattern for GLOB of SQLite."""
    return "".join(
        _GLOB_WILD[char] if is_wild else f"[{char}]" if char in "*?[" else char for char, is_wild in _parts(pattern)
    )


def matches(text: str, pattern: str) -> bool:
    """Whether a text matches. Takes time of the product of both lengths at most."""
    parts = _parts(pattern)
    at = place = 0
    star, kept = -1, 0
    while at < len(text):
        part = parts[place] if place < len(parts) else None
        if part == _Part("%", True):
            star, kept = place, at
            place += 1
        elif part is not None and (part == _Part("_", True) or part == _Part(text[at], False)):
            at, place = at + 1, place + 1
        elif star >= 0:
            kept += 1
            at, place = kept, star + 1
        else:
            return False
    return all(part == _Part("%", True) for part in parts[place:])


def _parts(pattern: str) -> list[_Part]:
    found = []
    for part in _PART.finditer(pattern):
        plain, char = part["plain"], part["char"]
        found.append(_Part(plain, False) if plain is not None else _Part(char, char in _GLOB_WILD))
    return found
