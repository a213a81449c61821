"""Flavors, frameworks and the terms of jobs in the database, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal

from tests.support.databases import Databases

from danlu.spec.devices import DeviceRequest
from danlu.spec.flavors import Flavor
from danlu.spec.frameworks import Framework
from danlu.spec.job import LaunchMode
from danlu.spec.terms import Terms
from danlu.store.queries import attempts, catalog, jobs, people
from danlu.store.sql.tables import AttemptRow, JobRow
from danlu.store.upkeep import dump

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
FLAVOR = Flavor(
    name="TI.GN10-8",
    device=DeviceRequest(type="gpu", model="v100", count=8),
    cpus=2.5,
    memory=1 << 50,
    price_per_hour=Decimal("147.2064"),
    description="炉\n",
)
FRAMEWORK = Framework(
    name="torch",
    title="t" * 200,
    image="a/b:1",
    setup="x\n'\"",
    env={"A": "é"},
    launch=(LaunchMode.DDP, LaunchMode.PLAIN),
)


def test_what_is_stored_is_read_back_exactly(databases: Databases) -> None:
    with databases.open() as database:
        with database.writing() as session:
            catalog.put(session, FLAVOR, NOW)
            catalog.put(session, FRAMEWORK, NOW)
            catalog.put(session, Flavor(name="off", is_enabled=False), NOW)
        with database.writing() as session:
            assert catalog.get(session, Flavor, "TI.GN10-8") == FLAVOR
            assert catalog.listed(session, Framework) == [FRAMEWORK]
            assert catalog.names(session, Flavor) == ["TI.GN10-8"]
            cheaper = FLAVOR.model_copy(update={"price_per_hour": Decimal("0.000001"), "memory": None})
            catalog.put(session, cheaper, NOW)
            catalog.delete(session, FRAMEWORK)
        with database.reading() as session:
            assert catalog.get(session, Flavor, "TI.GN10-8") == cheaper
            assert catalog.get(session, Framework, "torch") is None
            assert len(catalog.listed(session, Flavor)) == 2
            tables = {table.name: list(table.rows) for table in dump.dump(session)}
            assert {row[0] for row in tables["flavors"]} == {"TI.GN10-8", "off"}
            assert tables["frameworks"] == []


def test_terms_and_times_of_a_job(databases: Databases) -> None:
    terms = Terms(price_per_hour=Decimal("147.2064"), currency="CNY", framework=FRAMEWORK, setup=None, env={"B": "1"})
    with databases.open() as database:
        with database.writing() as session:
            user = people.add_user(session, "ann", is_admin=True, at=NOW)
            project = people.add_project(session, "vision")
            for job_id, kept in (("train-1", terms.model_dump(mode="json")), ("train-2", None)):
                session.add(_job(job_id, project.id, user.id, kept))
            session.flush()
            session.add_all(_attempt(number) for number in (1, 2))
        with database.reading() as session:
            row, other = jobs.get_job(session, "train-1"), jobs.get_job(session, "train-2")
            assert row is not None
            assert other is not None
            assert Terms.model_validate(row.terms) == terms
            assert terms.framework is not None
            assert terms.framework.launch == (LaunchMode.DDP, LaunchMode.PLAIN)
            assert other.terms is None
            assert attempts.held_times(session, ["train-1", "train-2"]) == {
                "train-1": [(NOW, NOW + timedelta(hours=1)), (NOW + timedelta(days=1), None)]
            }


def _job(job_id: str, project_id: int, owner_id: int, terms: dict[str, object] | None) -> JobRow:
    return JobRow(
        id=job_id,
        project_id=project_id,
        owner_id=owner_id,
        name="a",
        engine="local",
        spec={},
        terms=terms,
        output="store://main/x/",
        state="queued",
        desired="run",
        reason_code="x",
        reason_message="",
        priority=50,
        created_at=NOW,
        queued_at=NOW,
    )


def _attempt(number: int) -> AttemptRow:
    return AttemptRow(
        job_id="train-1",
        number=number,
        state="running" if number == 2 else "failed",
        reason_code="x",
        reason_message="",
        placement={},
        notes=[],
        last_lines=[],
        started_at=NOW + timedelta(days=number - 1),
        ended_at=NOW + timedelta(hours=1) if number == 1 else None,
    )
