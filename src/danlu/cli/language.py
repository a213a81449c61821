"""The language of the terminal, and the server's messages in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from danlu.spec.messages.catalogue import Message
    from danlu.wire.why import WhyOut


def is_chinese() -> bool:
    """Whether the locale asks for Chinese."""
    spoken = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return spoken.startswith("zh")


def told(said: Optional[Message], english: str) -> str:
    """A message in the language of the terminal; the server's English where the catalogue has no other."""
    if said is None or not is_chinese():
        return english
    from danlu.spec.messages.catalogue import in_chinese

    return in_chinese(said) or english


def sentence(english: str) -> str:
    """A sentence of the server in the language of the terminal."""
    if not is_chinese():
        return english
    from danlu.spec.messages.catalogue import recognise

    return told(recognise(english), english)


def failure(english: str) -> str:
    """The message of a failure in the language of the terminal."""
    if not is_chinese():
        return english
    from danlu.spec.messages.catalogue import in_chinese, recognise_failure

    return in_chinese(recognise_failure(english)) or english


def remedy(code: str) -> str:
    """What to do about a reason; empty for one that this version does not know."""
    from danlu.spec.messages.reasons_zh import REASONS
    from danlu.spec.reasons import CATALOGUE

    if is_chinese() and code in REASONS:
        return REASONS[code].remedy
    return CATALOGUE[code].remedy if code in CATALOGUE else ""


def parts_of(found: WhyOut) -> list[str]:
    """What is said about a job that waits, part by part."""
    if not is_chinese() or not found.said:
        return found.sentence.split("; ")
    first, *rest = (told(one, "") for one in found.said)
    return [f"{found.job}：{first}", *rest]
