"""The database: transactions, migrations, and two processes at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from tests.support.databases import Databases

from danlu.errors import InvalidInput, Unavailable
from danlu.store.queries import buckets, people
from danlu.store.sql import migrate
from danlu.store.sql.database import Database
from danlu.store.sql.tables import Base, ProjectRow

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def url(databases: Databases) -> str:
    return databases.url()


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    made = Database(url)
    yield made
    made.close()


def projects(database: Database) -> list[str]:
    with database.reading() as session:
        return sorted(session.scalars(select(ProjectRow.name)))


class TestTransactions:
    def test_a_write_is_there_after_its_block(self, database: Database) -> None:
        database.write(people.add_project, "one")
        assert projects(database) == ["one"]

    def test_an_exception_rolls_back(self, database: Database) -> None:
        def add_and_fail(session: Session) -> None:
            people.add_project(session, "one")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            database.write(add_and_fail)
        assert projects(database) == []

    def test_a_reader_sees_one_moment(self, database: Database) -> None:
        with database.reading() as session:
            before = session.scalars(select(ProjectRow.name)).all()
            database.write(people.add_project, "later")
            assert session.scalars(select(ProjectRow.name)).all() == before
        assert projects(database) == ["later"]

    def test_foreign_keys_hold(self, database: Database) -> None:
        with pytest.raises(IntegrityError), database.writing() as session:
            buckets.add_bucket(session, "orphan", project_id=99, at=NOW)

    def test_times_come_back_in_utc(self, database: Database) -> None:
        database.write(people.add_user, "ann", is_admin=False, at=NOW)
        with database.reading() as session:
            user = people.user_by_name(session, "ann")
            assert user is not None
            assert user.created_at == NOW
            assert user.created_at.tzinfo is not None


class TestMigrations:
    def test_up_no_drift_down_and_up_again(self, databases: Databases) -> None:
        database = Database(databases.empty())
        migrate.upgrade(database)
        with database.engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, Base.metadata) == []
        migrate.downgrade(database, "base")
        assert inspect(database.engine).get_table_names() in ([], ["alembic_version"])
        migrate.upgrade(database)
        database.write(people.add_project, "again")
        assert projects(database) == ["again"]
        database.close()

    def test_upgrading_twice_keeps_what_is_there(self, database: Database) -> None:
        database.write(people.add_project, "kept")
        migrate.upgrade(database)
        assert projects(database) == ["kept"]

    def test_indexes_of_the_tables_are_in_the_migrated_database(self, database: Database) -> None:
        found = inspect(database.engine)
        for table in Base.metadata.tables.values():
            assert {index["name"] for index in found.get_indexes(table.name)} >= {
                index.name for index in table.indexes
            }, table.name


WRITER = """
import sys, time
from danlu.store.queries import buckets, people
from danlu.store.sql.database import Database
database = Database(sys.argv[1])
for number in range(int(sys.argv[3])):
    database.write(people.add_project, f"{sys.argv[2]}-{number}")
"""

HOLDER = """
import sys
from danlu.store.queries import buckets, people
from danlu.store.sql.database import Database
database = Database(sys.argv[1])
with database.writing() as session:
    people.add_project(session, "held")
    print("holding", flush=True)
    sys.stdin.readline()
"""


class TestTwoProcesses:
    def test_both_write_and_nothing_is_lost(self, database: Database, url: str) -> None:
        command = [sys.executable, "-c", WRITER, url]
        running = [subprocess.Popen([*command, name, "60"]) for name in ("a", "b")]
        for number in range(60):
            database.write(people.add_project, f"c-{number}")
        assert [process.wait() for process in running] == [0, 0]
        assert len(projects(database)) == 180

    def test_a_writer_waits_for_the_other_and_readers_do_not(self, database: Database, url: str) -> None:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert holder.stdin is not None
        assert holder.stdout is not None
        with holder:
            assert holder.stdout.readline() == "holding\n"
            assert projects(database) == []
            impatient = Database(url)
            hurry = "PRAGMA busy_timeout=50" if impatient.is_sqlite else "SET lock_timeout='50ms'"
            with impatient.engine.connect() as connection:
                connection.execute(text(hurry))
                connection.commit()
            told = "database is locked" if impatient.is_sqlite else "canceling statement due to lock timeout"
            with pytest.raises(Unavailable, match=f"the database is unavailable: {told}; try again"):
                impatient.write(people.add_project, "refused")
            impatient.close()
            holder.stdin.write("\n")
            holder.stdin.flush()
            assert holder.wait() == 0
        assert projects(database) == ["held"]

    def test_a_killed_writer_leaves_nothing_half(self, database: Database, url: str) -> None:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert holder.stdout is not None
        with holder:
            assert holder.stdout.readline() == "holding\n"
            holder.kill()
        database.write(people.add_project, "goes on")
        assert projects(database) == ["goes on"]


def test_a_value_that_no_column_holds_is_a_fault_of_whoever_sent_it(database: Database) -> None:
    migrate.upgrade(database)
    late = datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=23)))
    # PostgreSQL compares whole numbers of any length
    tests = [ProjectRow.created_at < late, *([ProjectRow.id == 2**70] if database.is_sqlite else [])]
    for test in tests:
        with pytest.raises(InvalidInput, match="the database rejected a value"), database.reading() as session:
            session.scalars(select(ProjectRow).where(test)).all()
