"""Searching the lines of logs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol, cast

import re2

from danlu.errors import InvalidInput


class _Compiled(Protocol):
    def search(self, text: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """What lines are searched for."""

    in_line: _Compiled
    in_text: _Compiled | None
    """Matches every text that has a matching line; None if there is no such pattern."""

    def may_match(self, text: str) -> bool:
        """False only when no line of the text matches."""
        return self.in_text is None or bool(self.in_text.search(text))

    def lines_of(self, text: str) -> str:
        """The lines that match. Text without any is skipped in one search."""
        if not self.may_match(text):
            return ""
        return "".join(f"{line}\n" for line in text.removesuffix("\n").split("\n") if self.in_line.search(line))


def compile_pattern(text: str | None) -> Pattern | None:
    """Compile with RE2, which takes linear time: one pattern could keep Python's own engine busy forever."""
    options = re2.Options()
    options.log_errors = False
    try:
        if not text:
            return None
        in_line = cast("_Compiled", re2.compile(text, options))
        # (?m) makes ^ and $ match at each line; \A and the like, or flags that are switched off, would not
        is_plain = re.search(r"\\[AzQ]|\(\?[a-zA-Z]*-", text) is None
        in_text = cast("_Compiled", re2.compile(f"(?m){text}", options)) if is_plain else None
        return Pattern(in_line, in_text)
    except re2.error as error:
        problem = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        told = f"{text!r} is not a regular expression: {problem}"
        raise InvalidInput(f"grep: {told}", fields={"grep": told}) from error
