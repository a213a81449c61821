"""The metric store on SQLite and a folder, and on PostgreSQL and S3: killed anywhere, by two servers at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlalchemy import select, update
from tests.support.databases import Databases
from tests.support.journals import JournalMaker
from tests.support.stores import S3Servers, make_objects

from danlu.errors import Conflict
from danlu.journal import encode_output
from danlu.spec.runs import RunState
from danlu.store.metrics.journal_files import JournalFiles
from danlu.store.metrics.points import Axis
from danlu.store.metrics.store import Metrics
from danlu.store.objects.base import Objects
from danlu.store.queries import people, runs
from danlu.store.sql.database import Database
from danlu.store.sql.run_tables import ChunkRow, JournalRow, RunRow, SeriesRow

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
PACK_BYTES = 1 << 14


class Place(NamedTuple):
    database: Database
    files: JournalFiles
    objects: Objects
    folder: Path

    def server(self) -> Metrics:
        """A server that has just been started."""
        return Metrics(self.database, self.files, self.objects, pack_bytes=PACK_BYTES)


@pytest.fixture
def place(tmp_path: Path, databases: Databases, s3_servers: S3Servers) -> Iterator[Place]:
    objects = make_objects("local" if databases.kind == "sqlite" else "rclone", s3_servers, tmp_path)
    with databases.open() as database:
        with database.writing() as session:
            people.add_user(session, "ann", is_admin=False, at=NOW)
            people.add_project(session, "team", at=NOW)
        yield Place(database, JournalFiles(tmp_path / "runs"), objects, tmp_path / "runs")


def add_run(place: Place, run_id: str) -> int:
    with place.database.writing() as session:
        row = RunRow(
            id=run_id,
            project_id=1,
            owner_id=1,
            folder="",
            name="r",
            state=RunState.RUNNING.value,
            labels=[],
            hparams={},
            summary={},
            info={},
            set_at={},
            created_at=NOW,
            started_at=NOW,
            seen_at=NOW,
        )
        runs.add_run(session, row)
        return row.number


def numbered(count: int) -> JournalMaker:
    made = JournalMaker()
    for first in range(0, count, 100):
        steps = range(first, min(first + 100, count))
        made.log("train", {"number": [float(step) for step in steps]}, steps)
    return made


def read(place: Place, metrics: Metrics, run: int) -> list[float]:
    """Every point of the run, in order."""
    with place.database.reading() as session:
        row = session.get(RunRow, run)
        assert row is not None
        found: list[float] = []
        opened = metrics.reader.open_run(session, row)
        some = metrics.reader.find(session, opened, runs.series_of(session, run))
    for _, _, points, _ in metrics.reader.all_points(opened, some):
        found += points.values.tolist()
    return found


def rolled_up(place: Place, run: int) -> tuple[int, int, float | None, float | None]:
    with place.database.reading() as session:
        series = session.scalars(select(SeriesRow).where(SeriesRow.run == run)).one()
        row = session.get(RunRow, run)
        assert row is not None
        return row.num_points, series.num_points, series.low, series.high


def test_counted_again_after_every_kind_of_end(place: Place) -> None:
    """A server that ends between any two steps leaves work that the next one does once."""
    made = numbered(3000)
    run = add_run(place, made.run)
    at = 0
    while at < len(made.data):
        server = place.server()
        at = server.append(run, made.run, made.name, offset=at, data=made.data[at : at + 9000], now=NOW)
        if at % 2:
            server = place.server()  # it did not come to counting
            server.find_not_ingested()
            server.ingest_changed()
    last = place.server()
    assert read(place, last, run) == [float(number) for number in range(3000)]
    last.find_not_ingested()
    last.ingest_changed()
    assert rolled_up(place, run) == (3000, 3000, 0.0, 2999.0)
    assert read(place, place.server(), run) == [float(number) for number in range(3000)]
    with place.database.reading() as session:
        assert len(session.scalars(select(ChunkRow)).all()) >= 5


def test_a_frame_longer_than_a_pack_is_passed_over(place: Place) -> None:
    made = numbered(1000)
    made.add(encode_output(1, 0.0, b"x" * 300_000))
    for first in range(1000, 50_000, 1000):
        made.log("train", {"number": [float(step) for step in range(first, first + 1000)]}, range(first, first + 1000))
    run, server = add_run(place, made.run), place.server()
    server.append(run, made.run, made.name, offset=0, data=made.data, now=NOW)
    server.ingest_changed()
    with place.database.reading() as session:
        (row,) = session.scalars(select(JournalRow)).all()
    assert row.ingested == len(made.data)
    assert row.built > 1_000_000
    assert read(place, server, run) == [float(number) for number in range(50_000)]


def test_another_journal_under_the_same_name_is_refused(place: Place) -> None:
    made, other = numbered(200), numbered(300)
    run, server = add_run(place, made.run), place.server()
    server.append(run, made.run, made.name, offset=0, data=made.data, now=NOW)
    with pytest.raises(Conflict):
        server.append(run, made.run, made.name, offset=0, data=other.data, now=NOW)
    assert server.journals.offset(run, made.run, made.name) == len(made.data)


def test_bytes_that_only_the_disk_has_count(place: Place) -> None:
    """Power was lost after the bytes were on the disk and before the database was: whole frames are taken in."""
    made = numbered(500)
    run = add_run(place, made.run)
    place.server().append(run, made.run, made.name, offset=0, data=made.data, now=NOW)
    with place.database.writing() as session:
        session.execute(update(JournalRow).values(offset=_frame_end(made, 4000)))
    with (place.folder / made.run / f"{made.name}.journal").open("ab") as file:
        file.write(b"torn")
    server = place.server()
    assert server.journals.offset(run, made.run, made.name) == len(made.data)
    made.log("train", {"number": [500.0]}, [500])
    end = server.append(run, made.run, made.name, offset=len(made.data) - 1000, data=b"", now=NOW)
    fresh = made.data[end:]
    assert server.append(run, made.run, made.name, offset=end, data=fresh, now=NOW) == len(made.data)
    server.find_not_ingested()
    server.ingest_changed()
    assert read(place, server, run) == [float(number) for number in range(501)]


def test_two_servers_take_in_and_count_at_once(place: Place) -> None:
    made = numbered(4000)
    run = add_run(place, made.run)
    servers = [place.server(), place.server()]

    def work(server: Metrics) -> None:
        at = 0
        while at < len(made.data):
            at = server.append(run, made.run, made.name, offset=at, data=made.data[at : at + 5000], now=NOW)
            server.ingest_changed()

    threads = [threading.Thread(target=work, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for server in servers:
        server.find_not_ingested()
        server.ingest_changed()
        assert read(place, server, run) == [float(number) for number in range(4000)]
    assert rolled_up(place, run) == (4000, 4000, 0.0, 3999.0)


def test_branches_are_cut_exactly_where_packs_lie_across_them(place: Place) -> None:
    first = numbered(3000)
    run = add_run(place, first.run)
    second = JournalMaker(first.run, branch=2).log("train", {"number": [-1.0] * 50}, range(1234, 1284))
    server = place.server()
    for made in (second, first):  # the order of arrival does not matter
        server.append(run, first.run, made.name, offset=0, data=made.data, now=NOW)
        server.ingest_changed()
    with place.database.reading() as session:
        row = session.get(RunRow, run)
        assert row is not None
        (series,) = runs.series_of(session, run)
        for most in (20_000, 60):
            opened = server.reader.open_run(session, row)
            (found,) = server.reader.find(session, opened, [series])
            lines = server.reader.lines(opened, found, axis=Axis.STEP, max_points=most, with_hidden=True)
            assert lines.num_points == 1234 + 50
            assert lines.main.values.max() == 1233.0
            assert (lines.hidden[1].steps.min(), lines.hidden[1].steps.max()) == (1234, 2999)
    assert (row.step, row.branch, series.last) == (1283, 2, -1.0)


def _frame_end(made: JournalMaker, near: int) -> int:
    from danlu.journal import scan

    return max(frame.end for frame in scan(made.data).frames if frame.end <= near)


def test_a_pack_that_is_built_while_a_run_is_read_doubles_nothing(place: Place) -> None:
    made = numbered(3000)
    run = add_run(place, made.run)
    server = place.server()
    half = _frame_end(made, len(made.data) // 10)
    server.append(run, made.run, made.name, offset=0, data=made.data[:half], now=NOW)
    server.ingest_changed()
    with place.database.reading() as session:
        row = session.get(RunRow, run)
        assert row is not None
        opened = server.reader.open_run(session, row)
    server.append(run, made.run, made.name, offset=half, data=made.data[half:], now=NOW)
    server.ingest_changed()
    with place.database.reading() as session:
        assert session.scalars(select(ChunkRow)).first() is not None
        found = server.reader.find(session, opened, runs.series_of(session, run))
    seen = [value for _, _, points, _ in server.reader.all_points(opened, found) for value in points.values.tolist()]
    assert seen == [float(number) for number in range(len(seen))]
    assert 0 < len(seen) < 3000
