"""moxing on files of this machine, and what can be known without a server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import moxing as mox
from moxing.file.remote import is_remote, store_path


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("obs://bucket/a/b.txt", "store://bucket/a/b.txt"),
        ("s3://bucket/a//b/", "store://bucket/a/b/"),
        ("obs://bucket", "store://bucket/"),
        ("S3:/bucket/x", "store://bucket/x"),
    ],
)
def test_paths_of_the_store(path: str, stored: str) -> None:
    assert is_remote(path)
    assert store_path(path) == stored


def test_other_paths_are_of_this_machine() -> None:
    assert [path for path in ("/obs/x", "obs", "file://x", Path("obs://x")) if is_remote(path)] == []


def test_local_files(tmp_path: Path) -> None:
    folder = str(tmp_path / "a")
    mox.file.write(f"{folder}/b/x.txt", "hello")
    mox.file.append(f"{folder}/b/x.txt", " world")
    mox.file.make_dirs(f"{folder}/c")
    assert mox.file.read(f"{folder}/b/x.txt") == "hello world"
    assert mox.file.list_directory(folder) == ["b", "c"]
    assert mox.file.list_directory(folder, recursive=True) == ["b", "b/x.txt", "c"]
    assert mox.file.get_size(folder, recursive=True) == mox.file.stat(f"{folder}/b/x.txt").length == 11
    mox.file.copy_parallel(folder, str(tmp_path / "d"))
    assert mox.file.glob(f"{tmp_path}/d/*/x.txt") == [f"{tmp_path}/d/b/x.txt"]
    mox.file.remove(folder, recursive=True)
    assert not mox.file.exists(folder)


def test_shift_is_undone(tmp_path: Path) -> None:
    before = (open, os.listdir, os.path.exists)
    mox.file.shift("os", "mox")
    try:
        assert os.listdir is not before[1]
        (tmp_path / "x").write_text("local files stay")
        with open(tmp_path / "x") as file:
            assert file.read() == "local files stay"
    finally:
        mox.file.shift("mox", "os")
    assert (open, os.listdir, os.path.exists) == before


def test_shift_of_something_else() -> None:
    with pytest.raises(ValueError, match=r"expected shift\('os', 'mox'\)"):
        mox.file.shift("os", "tf")
