"""The languages that Danlu speaks, and which of them a reader wants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, Optional

Language = Literal["en", "zh"]
TAGS: dict[Language, str] = {"en": "en", "zh": "zh-CN"}
"""As HTML and e-mail name them."""

Words = Mapping[str, tuple[str, str]]
"""Code -> English, Chinese."""

MAX_HEADER, MAX_LANGUAGES = 500, 20
"""Of a longer header the beginning counts: browsers send far less."""

_RANGE = re.compile(r"([A-Za-z]{1,8})(?:-[A-Za-z0-9]{1,8})*(?:\s*;\s*[qQ]=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?")


def of_locale(environ: Mapping[str, str]) -> Language:
    """The language of a process: that of its locale."""
    spoken = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return "zh" if spoken.startswith("zh") else "en"


def accepted(header: Optional[str]) -> Language:
    """What `Accept-Language` asks for: Chinese where it is wanted and English is not the first choice, as in the
    console. What cannot be read is skipped."""
    ranges = [_RANGE.fullmatch(part.strip()) for part in (header or "")[:MAX_HEADER].split(",")[:MAX_LANGUAGES]]
    wanted = [(float(found[2] or 1), found[1].lower()) for found in ranges if found is not None]
    names = [name for weight, name in sorted(wanted, key=lambda one: -one[0]) if weight > 0]
    return "zh" if "zh" in names and names[0] != "en" else "en"


def word(words: Words, code: str, *, language: Language) -> str:
    english, chinese = words[code]
    return chinese if language == "zh" else english
