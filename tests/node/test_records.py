from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.engines.local.folders import TaskFolder
from danlu.engines.local.observe import read_marks
from danlu.node.supervise.records import Marks, Records, is_locked, read_record, take_lock


class TestRecords:
    def test_the_last_one_counts(self, tmp_path: Path) -> None:
        records = Records(str(tmp_path), num_reserved=2)
        for number in range(5):
            assert records.put("status.json", {"number": number})
        assert read_record(str(tmp_path), "status.json") == {"number": 4}

    def test_one_that_was_never_written_is_none(self, tmp_path: Path) -> None:
        assert read_record(str(tmp_path), "exit.json") is None

    def test_one_larger_than_the_reserve_is_written_whole(self, tmp_path: Path) -> None:
        records = Records(str(tmp_path), num_reserved=1)
        assert records.put("exit.json", {"message": "x" * 10000})
        assert read_record(str(tmp_path), "exit.json") == {"message": "x" * 10000}


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
class TestFullDisk:
    @pytest.fixture
    def disk(self, tmp_path: Path) -> Iterator[Path]:
        disk = tmp_path / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(disk)], check=True)
        yield disk
        subprocess.run(["umount", "-l", str(disk)], check=True)

    def fill(self, disk: Path) -> None:
        with open(disk / "ballast", "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                return

    def test_reserved_records_can_be_written(self, disk: Path) -> None:
        records = Records(str(disk), num_reserved=2)
        self.fill(disk)
        assert records.put("status.json", {"phase": "running"})
        assert records.put("exit.json", {"state": "failed"}, must_last=True)
        assert read_record(str(disk), "exit.json") == {"state": "failed"}

    def test_without_a_reserve_it_says_no(self, disk: Path) -> None:
        records = Records(str(disk), num_reserved=0)
        self.fill(disk)
        assert not records.put("status.json", {"phase": "running"})
        assert read_record(str(disk), "status.json") is None

    def test_a_mark_that_does_not_fit_spoils_none(self, disk: Path) -> None:
        marks = Marks(str(disk))
        marks.add(10, 1.0)
        self.fill(disk)
        for length in range(20, 4000, 10):
            marks.add(length, 2.0)
        (disk / "ballast").unlink()
        marks.add(5000, 3.0)
        found = read_marks(TaskFolder(disk), 0)
        assert found[0].offset == 10
        assert found[-1].offset == 5000
        assert [mark.offset for mark in found] == sorted(mark.offset for mark in found)


class TestMarks:
    def test_those_after_an_offset_are_found(self, tmp_path: Path) -> None:
        marks = Marks(str(tmp_path))
        for number in range(1, 101):
            marks.add(number * 10, 1700000000.5 + number)
        marks.add(1000, 1800000000.0)  # did not grow
        found = read_marks(TaskFolder(tmp_path), 970)
        assert [(mark.offset, mark.at) for mark in found] == [
            (980, 1700000098.5),
            (990, 1700000099.5),
            (1000, 1700000100.5),
        ]
        assert len(read_marks(TaskFolder(tmp_path), 0)) == 100
        assert read_marks(TaskFolder(tmp_path), 1000) == []

    def test_an_end_that_is_not_marked_yet_has_a_time(self, tmp_path: Path) -> None:
        """Whoever copies the log before the next mark asks for no more marks when there is nothing more to copy."""
        log = tmp_path / "log"
        log.write_bytes(b"x" * 30)
        os.utime(log, (100.0, 100.0))
        assert [(mark.offset, mark.at) for mark in read_marks(TaskFolder(tmp_path), 0)] == [(30, 100.0)]
        assert read_marks(TaskFolder(tmp_path), 30) == []
        marks = Marks(str(tmp_path))
        marks.add(20, 98.0)
        assert [(mark.offset, mark.at) for mark in read_marks(TaskFolder(tmp_path), 20)] == [(30, 100.0)]
        marks.add(25, 99.5)
        assert [mark.offset for mark in read_marks(TaskFolder(tmp_path), 0)] == [20, 25]  # close enough


class TestLock:
    def test_it_is_held_until_its_holder_ends(self, tmp_path: Path) -> None:
        path = str(tmp_path / "lock")
        assert not is_locked(path)
        held = take_lock(path, wait_seconds=0)
        assert held is not None
        assert is_locked(path)
        assert take_lock(path, wait_seconds=0.05) is None
        os.close(held)
        assert not is_locked(path)
