"""Logs by offset: what was appended is read back, across segment borders, and a second time changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update
from tests.support.databases import Databases

from danlu.spec.states import TaskState
from danlu.store.logs.index import Logs
from danlu.store.logs.segments import SEGMENT_BYTES, LogFiles
from danlu.store.sql.database import Database
from danlu.store.sql.tables import TaskRow

JOB = "train-1"
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def make_logs(folder: Path, database: Database) -> Logs:
    with database.writing() as session:
        for rank in (0, 1):
            session.add(
                TaskRow(
                    job_id=JOB,
                    attempt=1,
                    rank=rank,
                    role="worker",
                    node="here",
                    device_ids=[],
                    state=TaskState.RUNNING.value,
                )
            )
    return Logs(database, LogFiles(folder / "logs"))


@pytest.fixture
def logs(tmp_path: Path, databases: Databases) -> Iterator[Logs]:
    with databases.open() as database:
        yield make_logs(tmp_path, database)


def forget(logs: Logs) -> None:
    """As if nothing had ever been written."""
    with logs._database.writing() as session:
        logs.remove_attempt(session, JOB, 1)
        session.execute(update(TaskRow).values(log_bytes=0))
    logs.drop_files(JOB)


def all_of(logs: Logs, rank: int = 0) -> bytes:
    return b"".join(logs.read_until(JOB, 1, rank, 0, logs.length(JOB, 1, rank)))


def add(logs: Logs, data: bytes, rank: int = 0) -> None:
    logs.append(JOB, 1, rank, offset=logs.length(JOB, 1, rank), data=data)


class TestAppend:
    def test_what_was_appended_is_read_back(self, logs: Logs) -> None:
        add(logs, b"one\n")
        add(logs, b"two\n")
        add(logs, b"other", rank=1)
        assert all_of(logs) == b"one\ntwo\n"
        assert all_of(logs, rank=1) == b"other"
        assert logs.read(JOB, 1, 0, 4) == b"two\n"
        assert logs.read(JOB, 1, 0, 8) == b""

    def test_a_second_time_changes_nothing(self, logs: Logs) -> None:
        add(logs, b"abc")
        logs.append(JOB, 1, 0, offset=0, data=b"abc")
        assert all_of(logs) == b"abc"

    def test_bytes_beyond_the_end_are_not_taken(self, logs: Logs) -> None:
        logs.append(JOB, 1, 0, offset=7, data=b"late")
        assert logs.length(JOB, 1, 0) == 0

    def test_it_says_how_much_is_stored_then(self, logs: Logs) -> None:
        assert logs.append(JOB, 1, 0, offset=0, data=b"abc") == 3
        assert logs.append(JOB, 1, 0, offset=0, data=b"abcdef") == 3, "somebody else had stored three bytes"
        assert logs.append(JOB, 1, 0, offset=3, data=b"def") == 6

    def test_across_segments(self, logs: Logs) -> None:
        data = bytes(range(256)) * (SEGMENT_BYTES // 256 * 2 + 3)
        logs.append(JOB, 1, 0, offset=0, data=data[: SEGMENT_BYTES - 5])
        add(logs, data[SEGMENT_BYTES - 5 : SEGMENT_BYTES + 7])
        add(logs, data[SEGMENT_BYTES + 7 :])
        assert logs.length(JOB, 1, 0) == len(data)
        assert all_of(logs) == data
        assert (
            b"".join(logs.read_until(JOB, 1, 0, SEGMENT_BYTES - 3, SEGMENT_BYTES + 3))
            == (data[SEGMENT_BYTES - 3 : SEGMENT_BYTES + 3])
        )

    def test_bytes_of_a_killed_server_are_written_over(self, logs: Logs, tmp_path: Path) -> None:
        """It wrote to the file, and died before it noted so in the database."""
        LogFiles(tmp_path / "logs").write(JOB, 1, 0, start=0, at=0, data=b"abcdef")
        assert all_of(logs) == b""
        add(logs, b"abc")
        assert all_of(logs) == b"abc"


class TestTail:
    def test_the_last_lines(self, logs: Logs) -> None:
        add(logs, b"one\ntwo\nthree\n")
        end = logs.length(JOB, 1, 0)
        assert [logs.tail_offset(JOB, 1, 0, lines, end) for lines in (0, 1, 2, 3, 9)] == [14, 8, 4, 0, 0]

    def test_a_line_without_an_end_counts(self, logs: Logs) -> None:
        add(logs, b"one\ntwo")
        assert logs.tail_offset(JOB, 1, 0, 1, 7) == 4

    def test_across_a_segment(self, logs: Logs) -> None:
        add(logs, b"x" * (SEGMENT_BYTES - 2) + b"\nlast line\n")
        end = logs.length(JOB, 1, 0)
        assert logs.tail_offset(JOB, 1, 0, 1, end) == SEGMENT_BYTES - 1

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.sampled_from([b"a", b"\n", b"bc\n", b"\n\n", b"x" * 70_000]), max_size=8), st.integers(1, 6))
    def test_equals_the_naive_way(self, logs: Logs, pieces: list[bytes], num_lines: int) -> None:
        forget(logs)
        data = b"".join(pieces)
        add(logs, data)
        lines = data.split(b"\n")
        lines = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        start = logs.tail_offset(JOB, 1, 0, num_lines, len(data))
        assert data[start:] == b"".join(lines[-num_lines:])


class TestMarks:
    def test_the_offset_at_a_time(self, logs: Logs) -> None:
        add(logs, b"x" * 30)
        logs.add_marks(JOB, 1, 0, [(10, BEGIN), (20, BEGIN + timedelta(seconds=10))])
        times = (-1, 0, 5, 10, 99)
        found = [logs.offset_at(JOB, 1, 0, BEGIN + timedelta(seconds=seconds)) for seconds in times]
        assert found == [0, 10, 10, 20, 20]

    def test_marks_that_are_known_are_left_out(self, logs: Logs) -> None:
        logs.add_marks(JOB, 1, 0, [(10, BEGIN)])
        logs.add_marks(JOB, 1, 0, [(5, BEGIN), (10, BEGIN), (15, BEGIN)])
        assert logs.last_mark(JOB, 1, 0) == 15


def test_a_deleted_job_leaves_no_bytes(logs: Logs, tmp_path: Path) -> None:
    add(logs, b"secret of a job\n")
    logs.drop_files(JOB)
    assert [path for path in (tmp_path / "logs").rglob("*") if path.is_file()] == []
