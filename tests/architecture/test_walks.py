"""The walks of docs/architecture.md lead through functions that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"`((?:src|accel)/[\w/]+\.py):([\w.]+)`")
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Four walks")[2]
WALKS = {walk.partition("\n")[0]: walk for walk in TEXT.split("\n### ")[1:]}


@cache
def names_in(file: str) -> frozenset[str]:
    """Functions, classes and methods of a module, dotted."""
    found = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = (one for one in node.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))
            found |= {f"{node.name}.{one.name}" for one in inner}
    return frozenset(found)


def test_there_are_four() -> None:
    assert list(WALKS) == ["A job", "A metric", "An artifact", "An image record"]


@pytest.mark.parametrize("walk", WALKS)
def test_every_step_exists(walk: str) -> None:
    rows = [row for row in WALKS[walk].splitlines() if row.startswith("|")][2:]
    assert [row for row in rows if not STEP.search(row)] == []
    steps = [step for row in rows for step in STEP.findall(row)]
    missing = [f"{file}:{name}" for file, name in steps if not (ROOT / file).is_file() or name not in names_in(file)]
    assert missing == []
