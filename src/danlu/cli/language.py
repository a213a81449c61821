"""The language of the terminal, and the server's messages in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Optional

from danlu.spec.messages.command_texts import FAILURE
from danlu.spec.messages.languages import Language, Words, of_locale, word

if TYPE_CHECKING:
    from danlu.errors import DanluError
    from danlu.spec.messages.catalogue import Message
    from danlu.wire.why import WhyOut


def language() -> Language:
    """The one that the locale asks for."""
    return of_locale(os.environ)


def is_chinese() -> bool:
    return language() == "zh"


def in_words(words: Words, code: str, /, **values: object) -> str:
    """Words of a command in the language of the terminal."""
    return word(words, code, language=language()).format(**values)


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
    from danlu.spec.messages.catalogue import sentence_in

    return sentence_in(english, "zh")


def failure(error: DanluError) -> str:
    """The message of a failure in the language of the terminal."""
    if not is_chinese():
        return error.message
    from danlu.spec.messages.catalogue import failure_in

    of_fields = _of_fields(error)
    return of_fields if of_fields != error.message else failure_in(error.message, "zh")


def _of_fields(error: DanluError) -> str:
    """A message in Chinese that tells of several fields, or where in a job file they are."""
    found = error.message
    for problem in error.fields.values():
        found = found.replace(f": {problem}", f"：{sentence(problem)}")
    begin, chinese = FAILURE["invalid_job"]
    return found.replace(begin, chinese, 1) if found.startswith(begin) else found


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
