"""What a code folder leaves out, as tests/data/ignore.json has it: the console is held to the same file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from danlu.client.files.ignore import DEFAULTS, IGNORE_FILE, find_files

WANTED = json.loads((Path(__file__).parents[1] / "data" / "ignore.json").read_text("utf-8"))


def test_the_defaults() -> None:
    assert list(DEFAULTS) == WANTED["defaults"]


@pytest.mark.parametrize("case", WANTED["cases"], ids=lambda case: " ".join(case["lines"]) or "defaults")
def test_a_folder(case: dict[str, Any], tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.xfail(strict=True, reason="pathspec 1.1.1 gives `!*/` less weight than an earlier `*`; git does not")
@pytest.mark.parametrize("case", WANTED["git_only"], ids=lambda case: " ".join(case["lines"]))
def test_a_folder_that_git_treats_differently(case: dict[str, Any], tmp_path: Path) -> None:
    check(case, tmp_path)


def check(case: dict[str, Any], tmp_path: Path) -> None:
    """A path at a time: some of them could not be in one folder."""
    for number, path in enumerate([*case["kept"], *case["left_out"]]):
        folder = tmp_path / str(number)
        file = folder / path
        file.parent.mkdir(parents=True)
        file.write_text("x")
        if path != IGNORE_FILE:
            (folder / IGNORE_FILE).write_text("\n".join(case["lines"]), encoding="utf-8")
        assert (path in {found.path for found in find_files(folder)}) == (path in case["kept"]), path
