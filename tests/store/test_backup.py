"""Rows out of one database and into another, backups, and a move between stores: on every combination."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from sqlalchemy import select, text
from tests.support.databases import KINDS, Databases
from tests.support.stores import S3Servers, make_objects

from danlu.errors import Conflict, InvalidInput
from danlu.spec.paths import StorePath
from danlu.store.objects import blobs
from danlu.store.objects.local import LocalObjects
from danlu.store.queries import buckets, facts, jobs, people
from danlu.store.sql import migrate
from danlu.store.sql.database import Database
from danlu.store.sql.tables import Base, EventRow, JobRow, ProjectRow
from danlu.store.upkeep import dump
from danlu.store.upkeep.backup import Stores, read_key, read_manifest, restore_backup, write_backup
from danlu.store.upkeep.moving import copy_objects, copy_rows

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
MakeDatabase = Callable[..., Database]


@pytest.fixture
def make_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeDatabase]:
    made: list[Database] = []
    homes: list[Databases] = []

    def make(kind: str, *, is_empty: bool = False) -> Database:
        folder = tmp_path / f"databases{len(homes)}"
        folder.mkdir()
        homes.append(Databases(kind, folder, request.getfixturevalue("postgres") if kind == "postgresql" else None))
        made.append(Database(homes[-1].empty() if is_empty else homes[-1].url()))
        return made[-1]

    yield make
    for database in made:
        database.close()
    for home in homes:
        home.drop()


def fill(database: Database) -> None:
    with database.writing() as session:
        user = people.add_user(session, "ann", is_admin=True, at=NOW)
        project = people.add_project(session, "炉")
        buckets.add_bucket(session, "main", project_id=project.id, at=NOW)
        blobs.own(session, project.id, "ab" * 32, NOW)
        for number in range(3):
            session.add(
                JobRow(
                    id=f"train-{number}",
                    project_id=project.id,
                    owner_id=user.id,
                    name="a",
                    engine="local",
                    spec={"tags": {"é": "ü"}, "nested": [1, None, 2.5]},
                    sealed_secrets=b"\x00\xff\x01" if number else None,
                    output="store://main/x/",
                    state="queued",
                    desired="run",
                    reason_code="x",
                    reason_message="line\nline\u2028'\"",
                    priority=-1,
                    created_at=NOW,
                    queued_at=NOW,
                )
            )
            jobs.add_event(session, f"train-{number}", 0, kind="made", message="m", at=NOW)


def everything(database: Database) -> dict[str, list[list[object]]]:
    with database.reading() as session:
        return {table.name: list(table.rows) for table in dump.dump(session) if table.name != "facts"}


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    made = Stores(LocalObjects(tmp_path / "store"), LocalObjects(tmp_path / "server"))
    for name in ("a/1", "b"):
        put(made.objects, StorePath("main", name), name.encode())
    put(made.inner, StorePath("blobs", "ab/" + "ab" * 32), b"code")
    put(made.inner, StorePath("metrics", "run/journal/0.pack"), b"points")
    return made


def put(objects: object, path: StorePath, data: bytes) -> None:
    assert isinstance(objects, LocalObjects)
    writer = objects.put(path)
    writer.write(data)
    writer.commit()


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_all_rows_arrive_and_counting_goes_on(make_database: MakeDatabase, source: str, target: str) -> None:
    old, new = make_database(source), make_database(target)
    fill(old)
    counts = copy_rows(old, new, facts={"objects": "there"}, moved_to="elsewhere")
    assert (counts["jobs"], counts["events"], counts["users"]) == (3, 3, 1)
    assert everything(new) == everything(old)
    with new.writing() as session:
        jobs.add_event(session, "train-0", 0, kind="more", message="", at=NOW)
        session.flush()
        assert session.scalars(select(EventRow.id).order_by(EventRow.id)).all() == [1, 2, 3, 4]
        assert people.add_project(session, "next").id == 2
    with pytest.raises(Conflict, match="this database was moved to elsewhere; set DANLU_SERVER_DATABASE_URL to it"):
        old.write(facts.agree, {"objects": "there"})
    new.write(facts.agree, {"objects": "there"})


def test_rows_are_not_mixed_with_others(make_database: MakeDatabase) -> None:
    old, new = make_database("sqlite"), make_database("postgresql")
    fill(old)
    new.write(people.add_project, "mine")
    with pytest.raises(Conflict, match="expected an empty database, got one with rows in 'projects'"):
        copy_rows(old, new, facts={}, moved_to="x")


class TestBackup:
    def test_a_table_that_is_not_known_is_not_left_out_in_silence(
        self, databases: Databases, stores: Stores, tmp_path: Path
    ) -> None:
        with databases.open() as database:
            with database.engine.begin() as connection:
                connection.execute(text("CREATE TABLE of_tomorrow (id INTEGER PRIMARY KEY)"))
            with pytest.raises(InvalidInput, match="does not know the table 'of_tomorrow'; use a newer version"):
                write_backup(database, stores, tmp_path / "b.zip", now=NOW)
        assert not (tmp_path / "b.zip").exists()

    @pytest.mark.parametrize("kind", KINDS)
    def test_there_and_back_to_the_other_kind(
        self, make_database: MakeDatabase, kind: str, stores: Stores, tmp_path: Path
    ) -> None:
        old = make_database(kind)
        fill(old)
        (tmp_path / "secret.key").write_bytes(b"the key")
        file = tmp_path / "backup.zip"
        made = write_backup(old, stores, file, now=NOW, key_file=tmp_path / "secret.key")
        assert (made.num_objects, made.num_rows["jobs"]) == (4, 3)
        assert file.stat().st_mode & 0o777 == 0o600
        assert read_key(file) == b"the key"
        new = make_database("sqlite" if kind == "postgresql" else "postgresql", is_empty=True)
        stores.objects.delete(StorePath("main", "b"))
        done = restore_backup(new, stores, file, {"objects": "here"})
        assert (done.num_objects, done.missing) == (4, ["main/b"])
        assert everything(new) == everything(old)

    def test_it_is_of_one_moment_though_others_write(
        self, databases: Databases, stores: Stores, tmp_path: Path
    ) -> None:
        """Each write adds a project and its bucket; a backup has as many of one as of the other."""
        is_over = threading.Event()
        with databases.open() as database:

            def write() -> None:
                number = 0
                while not is_over.is_set():
                    with database.writing() as session:
                        project = people.add_project(session, f"p{number}")
                        buckets.add_bucket(session, f"bucket-{number}", project_id=project.id, at=NOW)
                    number += 1

            thread = threading.Thread(target=write)
            thread.start()
            for number in range(5):
                write_backup(database, stores, tmp_path / f"{number}.zip", now=NOW)
            is_over.set()
            thread.join()
        counts = [read_manifest(tmp_path / f"{number}.zip")["tables"] for number in range(5)]
        assert all(found["projects"] == found["buckets"] for found in counts)
        assert counts[-1]["projects"] > counts[0]["projects"]

    def test_rows_of_an_older_revision_are_brought_up(
        self, databases: Databases, stores: Stores, tmp_path: Path
    ) -> None:
        database = Database(databases.empty())
        migrate.upgrade(database, "0001")
        with database.engine.begin() as connection:
            connection.execute(text("INSERT INTO projects (id, name) VALUES (7, 'old')"))
        file = tmp_path / "old.zip"
        _write_as_of_0001(database, file)
        database.close()
        new = Database(databases.empty())
        restore_backup(new, stores, file, {})
        with new.reading() as session:
            assert session.scalars(select(ProjectRow.name)).all() == ["old"]
            assert dump.revision(session) != "0001"
        new.close()

    def test_what_is_no_backup_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "x.zip").write_bytes(b"PK not a zip")
        with pytest.raises(InvalidInput, match=r"x\.zip is not a complete backup"):
            read_manifest(tmp_path / "x.zip")


def _write_as_of_0001(database: Database, file: Path) -> None:
    """What this version's predecessor wrote: only the tables and columns there were."""
    import json

    with zipfile.ZipFile(file, "w") as archive, database.engine.connect() as connection:
        counts = {}
        for table in Base.metadata.sorted_tables:
            if table.name not in ("projects", "uploads"):
                continue
            rows = connection.execute(text(f"SELECT * FROM {table.name}"))
            lines = [json.dumps(list(rows.keys())), *(json.dumps(list(row)) for row in rows)]
            archive.writestr(f"tables/{table.name}.jsonl", "\n".join(lines) + "\n")
            counts[table.name] = len(lines) - 1
        archive.writestr("objects.jsonl", "")
        archive.writestr("manifest.json", json.dumps({"format": 1, "revision": "0001", "tables": counts}))


def test_objects_are_copied_once_and_checked(
    make_database: MakeDatabase, stores: Stores, s3_servers: S3Servers, tmp_path: Path
) -> None:
    database = make_database("sqlite")
    fill(database)
    there = Stores(make_objects("rclone", s3_servers, tmp_path), make_objects("rclone", s3_servers, tmp_path))
    first = copy_objects(database, stores, there, said=lambda _: None)
    assert (first.num_copied, first.num_there, first.num_bytes) == (4, 0, 14)
    put(stores.objects, StorePath("main", "b"), b"B")
    again = copy_objects(database, stores, there, said=lambda _: None)
    assert (again.num_copied, again.num_there) == (1, 3)
    found = there.objects.open(StorePath("main", "b"))
    assert b"".join(found.pieces()) == b"B"
    assert found.info.sha256 == hashlib.sha256(b"B").hexdigest()
