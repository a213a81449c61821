"""Folders of other trackers are read to their end, whatever is in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from danlu.importing.files import tree, unreadable, walk
from danlu.importing.records import Problems
from danlu.importing.swanlab import SwanlabFolders
from danlu.importing.wandb.folders import find_logs


def too_deep(top: Path, name: str) -> None:
    """A file whose path is longer than the system takes, in a folder whose path is not."""
    with chdir(top):
        place = str(top)
        while len(place) < 4000:
            os.mkdir("d" * 90)
            os.chdir("d" * 90)
            place += "/" + "d" * 90
        Path(name).write_text("x")


@pytest.mark.parametrize("follow_links", [False, True])
def test_a_file_that_cannot_be_looked_at_is_named(tmp_path: Path, follow_links: bool) -> None:
    (tmp_path / "fine").write_text("x")
    too_deep(tmp_path, "f" * 200)
    problems = Problems()
    assert list(tree(tmp_path, problems, follow_links=follow_links)) == ["fine"]
    assert len(problems.all()) == 1


@pytest.mark.parametrize(
    "found",
    [lambda top: list(SwanlabFolders(top, lambda data: data).runs()), find_logs],
    ids=["swanlab", "wandb"],
)
@pytest.mark.parametrize("name", ["run-" + "f" * 180 + ".swanlab", "f" * 190 + ".wandb"])
def test_a_log_that_cannot_be_looked_at_hides_no_other(
    tmp_path: Path, found: Callable[[Path], list[object]], name: str
) -> None:
    too_deep(tmp_path, name)
    assert found(tmp_path) == []


def test_a_folder_that_cannot_be_listed_is_named_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    problems = Problems()
    assert list(walk(tmp_path / "none", problems)) == []
    assert list(walk(Path("/", "d" * 300), problems)) == []
    assert problems.all() == [f"/{'d' * 300}"[:300] + ": File name too long"]


def test_a_long_path_leaves_room_for_the_reason() -> None:
    assert unreadable("d" * 600, ValueError("too large\nby far")) == "d" * 300 + ": too large"
