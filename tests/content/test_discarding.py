"""Removing folders with large files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Optional

import pytest

from danlu.content import discarding
from danlu.content.discarding import discard


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(discarding, "LARGE_BYTES", 1000)
    top = tmp_path / "files"
    (top / "inner").mkdir(parents=True)
    for number in range(3):
        (top / "inner" / f"{number}.pt").write_bytes(b"1" * 2000)
    (top / "small").write_bytes(b"1")
    (top / "link").symlink_to("/etc/hostname")
    os.mkfifo(top / "pipe")
    return top


def wait_for_holders() -> None:
    for thread in threading.enumerate():
        if thread.name == "danlu-discard":
            thread.join()


def test_names_are_gone_at_once_and_the_holder_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    start = discarding._start_holder

    def noted(descriptors: list[int]) -> Optional[subprocess.Popen[bytes]]:
        held.extend(descriptors)
        return start(descriptors)

    monkeypatch.setattr(discarding, "_start_holder", noted)
    before = set(os.listdir("/proc/self/fd"))
    discard(str(folder))
    assert len(held) == 3
    assert not folder.exists()
    wait_for_holders()
    assert set(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("executable", ["", "/nowhere/python"])
def test_without_another_process_it_is_removed_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    discard(str(folder))
    assert not folder.exists()


def test_few_files_are_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discarding, "MAX_HELD", 2)
    descriptors = list(discarding._open_large(str(folder)))
    assert len(descriptors) == 2
    for descriptor in descriptors:
        os.close(descriptor)


def test_what_is_not_there_is_no_problem(tmp_path: Path) -> None:
    discard(str(tmp_path / "gone"))
