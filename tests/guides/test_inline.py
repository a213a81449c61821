"""Commands that stand within a sentence: their words and options are those of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.guides.test_docs import PAGES, ROOT

from danlu.cli import COMMANDS, load_command

_FENCES = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`danlu ([a-z][^`]*)`")


def problem_with(line: str) -> str:
    """What is wrong with the words after `danlu`; empty when nothing is."""
    words = re.split(r"#| -- | \\?\| |\[", line)[0].split()
    alternatives = words[0].split("|")
    unknown = [name for name in alternatives if name not in COMMANDS]
    if unknown:
        return f"there is no command {unknown[0]!r}"
    command: Any = load_command(alternatives[0])
    for word in words[1:]:
        inner = getattr(command, "commands", {})
        if not word.startswith("-"):
            parts = word.split("|")
            if inner and parts[0].islower() and all(part in inner for part in parts):
                command = inner[parts[0]]
            elif inner and not command.invoke_without_command:
                return f"danlu {words[0]} has no command {word!r}"
            else:
                inner = {}
            continue
        options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        name = word.partition("=")[0].rstrip(",;.")
        if name not in options and name not in ("--help", "..."):
            return f"it has no option {name!r}"
    return ""


def inline_commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = _FENCES.sub("", page.read_text()).replace("\n", " ")
        for found in _INLINE.finditer(text):
            yield page.relative_to(ROOT).as_posix(), found[1]


def test_every_command_within_a_sentence_exists() -> None:
    found = {(page, line): problem for page, line in inline_commands() if (problem := problem_with(line))}
    assert found == {}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("keys make", "danlu keys has no command 'make'"),
        ("trian job.yml", "there is no command 'trian'"),
        ("submit job.yml --detatch", "it has no option '--detatch'"),
        ("keys new --name ci", ""),
        ("store mb|rb", ""),
        ("run --preset tione -- python train.py --lr 1", ""),
    ],
)
def test_what_is_wrong_is_said(line: str, problem: str) -> None:
    assert problem_with(line) == problem
