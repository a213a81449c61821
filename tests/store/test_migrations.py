"""What migrations make of rows that were there before them, on both databases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session
from tests.support.databases import Databases

from danlu.store.queries import buckets, jobs, people
from danlu.store.sql import migrate
from danlu.store.sql.database import Database

AT = "2026-01-01 12:00:00"
MEMBERS = ((1, 3, "owner"), (1, 2, "member"), (2, 1, "member"), (2, 3, "member"), (3, 2, "viewer"))
"""User, project, role."""

SPEC = {"data": {"store://vision/data/": "data"}, "code": {"store": "store://other/code/"}}


@pytest.fixture
def old(databases: Databases) -> Iterator[Database]:
    """A database of the version before rights hung on rows, with people at work."""
    database = Database(databases.empty())
    migrate.upgrade(database, "0011")
    with database.writing() as session:
        for number, name in ((1, "ada"), (2, "bob"), (3, "vic")):
            add(session, "users", id=number, name=name, is_admin=False, is_active=True, created_at=AT)
        for number, archived in ((1, AT), (2, None), (3, None)):
            add(session, "projects", id=number, name=f"p{number}", archived_at=archived)
        for user, project, role in MEMBERS:
            add(session, "members", project_id=project, user_id=user, role=role)
        for name in ("vision", "other"):
            add(session, "buckets", name=name, project_id=2, created_at=AT)
        for name, state in (("train-1", "running"), ("train-2", "succeeded")):
            add_job(session, name, state)
        uploads = {"owner": "user:1", "bucket": "vision", "key": "x", "size": 1, "sha256": "a" * 64, "created_at": AT}
        add(session, "uploads", id="u", **uploads)
    yield database
    database.close()


def add(session: Session, table: str, **values: Any) -> None:
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    session.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)


def add_job(session: Session, job_id: str, state: str) -> None:
    words = {"reason_code": "x", "reason_message": "x", "desired": "run", "engine": "local", "name": "x"}
    numbers = {"priority": 0, "attempt": 0, "num_retries": 0, "version": 0}
    times = {"created_at": AT, "queued_at": AT}
    places = {"spec": json.dumps(SPEC), "output": f"store://vision/jobs/{job_id}/"}
    add(session, "jobs", id=job_id, project_id=2, owner_id=1, state=state, **words, **numbers, **times, **places)


def test_buckets_get_ids_and_what_refers_to_them_gets_these(old: Database) -> None:
    migrate.upgrade(old)
    with old.reading() as session:
        rows = buckets.list_buckets(session, None)
        ids = {row.name: row.id for row in rows}
        assert {row.name: row.place for row in rows} == {"other": "other", "vision": "vision"}
        assert len(set(ids.values())) == 2
        assert all(len(one) == 32 for one in ids.values())
        found = {name: jobs.get_job(session, name) for name in ("train-1", "train-2")}
        assert {name: row.bucket_ids for name, row in found.items() if row is not None} == {
            "train-1": ids,
            "train-2": None,
        }
        upload = session.execute(text("SELECT bucket_id, place FROM uploads")).one()
        assert tuple(upload) == (ids["vision"], "vision")


def test_everybody_keeps_the_project_that_their_jobs_went_to(old: Database) -> None:
    """The oldest one that they may add to; an archived one is not, and a viewer has none."""
    migrate.upgrade(old)
    with old.reading() as session:
        found = {name: people.user_by_name(session, name) for name in ("ada", "bob", "vic")}
        assert {name: row.default_project_id for name, row in found.items() if row is not None} == {
            "ada": 2,
            "bob": 3,
            "vic": None,
        }
