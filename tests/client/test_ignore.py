from __future__ import annotations

import os
from pathlib import Path

import pytest

from danlu.client.files.ignore import find_files
from danlu.errors import InvalidInput


def make(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)


def found(folder: Path) -> list[str]:
    return sorted(file.path for file in find_files(folder))


def test_what_is_never_code_stays_at_home(tmp_path: Path) -> None:
    make(
        tmp_path, "train.py", "lib/model.py", ".git/HEAD", "lib/__pycache__/model.pyc", ".venv/bin/python", ".danlu.yml"
    )
    assert found(tmp_path) == ["lib/model.py", "train.py"]


def test_the_ignore_file_has_the_rules_of_gitignore(tmp_path: Path) -> None:
    make(tmp_path, "a.py", "data/x.bin", "data/keep.txt", "deep/data/y.bin", "run.log", "deep/run.log", "deep/b.py")
    (tmp_path / ".danluignore").write_text("# data\n/data/*\n!/data/keep.txt\n*.log\n")
    assert found(tmp_path) == [".danluignore", "a.py", "data/keep.txt", "deep/b.py", "deep/data/y.bin"]


def test_a_default_can_be_taken_back(tmp_path: Path) -> None:
    make(tmp_path, "venv/settings.py", "a.py")
    (tmp_path / ".danluignore").write_text("!venv/\n.danluignore\n")
    assert found(tmp_path) == ["a.py", "venv/settings.py"]


def test_links_to_files_are_followed_and_links_to_folders_are_not(tmp_path: Path) -> None:
    make(tmp_path, "code/a.py", "data/big.bin", "shared.py")
    (tmp_path / "code" / "shared.py").symlink_to(tmp_path / "shared.py")
    (tmp_path / "code" / "data").symlink_to(tmp_path / "data")
    (tmp_path / "code" / "loop").symlink_to(tmp_path / "code")
    (tmp_path / "code" / "nowhere").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "code" / "pipe")
    assert found(tmp_path / "code") == ["a.py", "shared.py"]


def test_an_ignore_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / ".danluignore").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=r"\.danluignore cannot be read"):
        found(tmp_path)
