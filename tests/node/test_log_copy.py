"""The log's copy in somebody's home, where anything may stand in its way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from danlu.node.supervise.log_copy import LogCopy


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.write_text("one\n")
    (tmp_path / "home").mkdir()
    return path


def test_it_follows_the_log(log: Path) -> None:
    copy = LogCopy(str(log), str(log.parent / "home"), "jobs/1/log.txt", uid=None)
    copy.follow()
    target = log.parent / "home" / "jobs" / "1" / "log.txt"
    assert target.read_text() == "one\n"
    with log.open("a") as file:
        file.write("two\n")
    copy.follow(is_last=True)
    assert target.read_text() == "one\ntwo\n"


@pytest.mark.parametrize("trap", ["link", "folder link", "pipe", "second name"])
def test_nothing_but_a_file_of_its_own_is_written(log: Path, trap: str) -> None:
    home, bait = log.parent / "home", log.parent / "bait"
    bait.write_text("precious")
    if trap == "folder link":
        (log.parent / "elsewhere").mkdir()
        (home / "jobs").symlink_to(log.parent / "elsewhere")
    else:
        (home / "jobs").mkdir()
    target = home / "jobs" / "log.txt"
    if trap == "link":
        target.symlink_to(bait)
    elif trap == "pipe":
        os.mkfifo(target)
    elif trap == "second name":
        os.link(bait, target)
    with pytest.raises(OSError):  # noqa: PT011 the reasons differ
        LogCopy(str(log), str(home), "jobs/log.txt", uid=None)
    assert bait.read_text() == "precious"
    assert not (log.parent / "elsewhere" / "log.txt").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_it_is_written_with_the_rights_of_its_owner(log: Path) -> None:
    home = log.parent / "home"
    os.chown(home, 1_000_000_007, 1_000_000_007)
    LogCopy(str(log), str(home), "jobs/log.txt", uid=1_000_000_007)
    assert (home / "jobs" / "log.txt").stat().st_uid == 1_000_000_007
    assert os.geteuid() == 0
    (home / "closed").mkdir()  # of root
    (home / "closed").chmod(0o755)
    with pytest.raises(PermissionError):
        LogCopy(str(log), str(home), "closed/log.txt", uid=1_000_000_007)
