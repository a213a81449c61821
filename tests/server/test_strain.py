"""What one request or one row must not do to everybody else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.world import World

from danlu.spec.states import JobState
from danlu.store.queries import jobs
from danlu.store.sql.tables import JobRow
from danlu.testing.serving import RunningServer


class TestGrep:
    def test_a_pattern_that_explodes_in_other_engines_does_not(self, server: RunningServer) -> None:
        with server.client() as client:
            job = client.jobs.submit(name="grep", command=f"echo {'a' * 34}b; echo other")
            job.wait()
            assert [line.text for line in job.logs(grep="(a+)+$")] == []
            assert [line.text.strip() for line in job.logs(grep="o.her")] == ["other"]


class TestBrokenRow:
    def test_a_spec_that_cannot_be_read_ends_its_job_and_no_other(self, world: World) -> None:
        broken, fine = world.submit(), world.submit()
        with world.database.writing() as session:
            row = jobs.get_job(session, broken)
            assert isinstance(row, JobRow)
            row.spec = {**row.spec, "launch": "teleport"}
        world.tick()
        assert world.job(broken).reason.code == "cannot_plan"
        assert world.job(fine).state is JobState.STARTING

    def test_a_field_of_a_newer_version_is_passed_over(self, world: World) -> None:
        job_id = world.submit()
        with world.database.writing() as session:
            row = jobs.get_job(session, job_id)
            assert isinstance(row, JobRow)
            row.spec = {**row.spec, "colour": "red"}
        world.tick()
        assert world.job(job_id).state is JobState.STARTING


@pytest.mark.parametrize(("options", "num_links"), [((), 1), (("--new-link",), 2)])
def test_a_link_is_printed_again_when_asked_for(
    make_server: Callable[..., RunningServer], options: tuple[str, ...], num_links: int
) -> None:
    server = make_server(*options)
    server.stop()
    server.start()
    assert server.said().count("signin?token=") == num_links
