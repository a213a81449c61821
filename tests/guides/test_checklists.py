"""The checklists of docs/architecture name tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "architecture").glob("*-checklist.md"))
NAMED = re.compile(r"`(tests/[\w/]+\.py|web/src/[\w/]+\.test\.tsx?)(?:::([^`]+))?`")
FEWEST = 25
"""A page that names fewer tests is not read as it should be."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_named_test_exists(page: Path) -> None:
    named = NAMED.findall(page.read_text())
    assert len(named) > FEWEST
    assert [f"{file}::{name}" for file, name in named if not exists(file, name)] == []


def exists(file: str, name: str) -> bool:
    path = ROOT / file
    if not path.is_file():
        return False
    text = path.read_text()
    if path.suffix == ".py":
        return all(re.search(rf"^\s*(def|class) {part}\b", text, re.MULTILINE) for part in name.split("::") if part)
    return f'"{name}"' in text if name else True


def test_a_name_that_is_nowhere_is_found() -> None:
    here = "tests/guides/test_checklists.py"
    assert exists(here, "test_a_name_that_is_nowhere_is_found")
    assert not exists(here, "test_a_name_that_is_nowhere")
    assert not exists(here, "TestNothing::test_every_named_test_exists")
    assert not exists("web/src/search.test.ts", "a test that nobody wrote")


def test_ray_is_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any(one.startswith("ray") for one in project["optional-dependencies"]["ray"])
    assert not any(re.match(r"ray\b", one) for one in project["dependencies"])
