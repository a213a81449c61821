"""Jobs that end when nobody uses them: their owner is told before, and whoever is in one keeps it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.support.world import START, Api, World

from danlu.gateway.terminals import Guest
from danlu.journal.usage import Cell, Header, pack, pack_header
from danlu.server.alerts.rules import SeenJob, is_idle_too_long
from danlu.server.alerts.watch import look
from danlu.server.terminals.operations import guard
from danlu.spec.job import parse_job
from danlu.spec.states import JobState
from danlu.store.metrics.usage import UsageFiles
from danlu.store.queries.gateway.uses import last_uses

NAN = math.nan
HOUR = 3600.0


def begun(world: World, **spec: Any) -> str:
    """A job that runs since now."""
    job = world.submit(**spec)
    world.tick()
    world.engine.run(job, at=world.clock().timestamp())
    world.tick()
    return job


def look_after(world: World, seconds: float) -> None:
    world.clock.pass_seconds(seconds)
    look(world.state)
    world.tick(3)


def alerts(api: Api, job: str) -> list[tuple[str, str, bool]]:
    found = api.json("GET", f"/jobs/{job}/alerts")["items"]
    return [(one["kind"], one["message"], one["closed_at"] is None) for one in found]


def test_its_owner_is_told_before_it_ends(world: World, api: Api) -> None:
    job = begun(world, idle_limit="2h")
    look_after(world, 110 * 60 - 1)
    assert [kind for kind, *_ in alerts(api, job)] == ["silent"]
    look_after(world, 1)
    assert alerts(api, job)[0] == (
        *("ends_idle", "idle for 1h50m; it will be stopped in 10m00s unless it is used"),
        True,
    )
    assert "ends_idle" in [one["alert_kind"] for one in api.json("GET", "/notices")["items"]]
    look_after(world, 599)
    assert world.job(job).state is JobState.RUNNING
    look_after(world, 1)
    ended = world.job(job)
    assert (ended.state, ended.reason.code) == (JobState.STOPPED, "idle_limit")
    assert ended.reason.message == "idle for 2h00m, its idle limit"


def test_whoever_is_in_it_keeps_it(world: World, api: Api) -> None:
    job = begun(world, idle_limit="1h")
    look_after(world, 3000)
    assert alerts(api, job)[0][0] == "ends_idle"
    welcome = guard(world.database, world.clock)
    assert welcome(Guest(world.admin.user_id, ""), job)
    look_after(world, 600)
    assert world.job(job).state is JobState.RUNNING
    assert alerts(api, job)[0][2] is False, "it is over"
    look_after(world, 2400)
    look_after(world, 600)
    assert world.job(job).state is JobState.STOPPED


def test_a_server_that_was_away_tells_before_it_ends_anything(world: World, api: Api) -> None:
    job = begun(world, idle_limit="1h")
    look_after(world, 9 * HOUR)
    assert world.job(job).state is JobState.RUNNING
    assert alerts(api, job)[0][1] == "idle for 9h00m; it will be stopped in 10m00s unless it is used"
    look_after(world, 599)
    assert world.job(job).state is JobState.RUNNING
    look_after(world, 1)
    assert world.job(job).state is JobState.STOPPED


@pytest.mark.parametrize("quantity", ["cpu", "device", "received"])
def test_a_kernel_at_work_is_a_use(world: World, quantity: str) -> None:
    """With nobody watching, for longer than measurements reach back."""
    job = begun(world, idle_limit="2h", resources={"device": "npu:910b:1"})
    measured(world, job, busy={quantity: 1e6})
    for _ in range(5):
        look_after(world, HOUR)
        assert world.job(job).state is JobState.RUNNING
    with world.database.reading() as session:
        assert last_uses(session, [job]) == {job: world.clock()}
    measured(world, job, seconds=5000)
    for _ in range(3):
        look_after(world, 2390)
    assert world.job(job).state is JobState.RUNNING
    look_after(world, 600)
    assert world.job(job).state is JobState.STOPPED


def measured(world: World, job: str, *, seconds: int = 60, busy: Mapping[str, float] | None = None) -> None:
    values = {"cpu": 0.01, "memory": 1.0, "device": 0.0, "received": 10.0, **(busy or {})}
    order = ("cpu", "memory", "read", "written", "received", "sent", "device", "device_memory")
    row = tuple(values.get(name, NAN) for name in order)
    cells = b"".join(pack(Cell(1000.0 + 5 * number, 5.0, row, row)) for number in range(seconds // 5))
    UsageFiles(world.settings.log_dir).put(job, 1, 0, offset=0, data=pack_header(Header(0, 5.0)) + cells)


def test_debug_jobs_have_a_limit_and_others_have_none(world: World) -> None:
    debug, other = begun(world, debug=True), begun(world)
    for seconds in (7200, 600):
        look_after(world, seconds)
    assert (world.job(debug).state, world.job(other).state) == (JobState.STOPPED, JobState.RUNNING)
    assert world.job(debug).reason.code == "idle_limit"


def test_a_job_that_is_started_again_has_its_full_time(world: World, api: Api) -> None:
    job = begun(world, idle_limit="1h")
    for seconds in (3600, 600):
        look_after(world, seconds)
    assert api("POST", f"/jobs/{job}/start").status_code == 200
    world.tick()
    world.engine.run(job, attempt=2, at=world.clock().timestamp())
    world.tick()
    look_after(world, 2999)
    look_after(world, 0)
    assert (world.job(job).state, world.job(job).attempt) == (JobState.RUNNING, 2)


def test_whoever_stops_it_is_named_and_not_the_limit(world: World, api: Api) -> None:
    job = begun(world, idle_limit="1h")
    look_after(world, 3599)
    assert api("POST", f"/jobs/{job}/stop").status_code == 200
    look_after(world, 700)
    assert world.job(job).reason.code == "stopped_by_user"


def test_nothing_ends_without_a_limit_or_a_warning() -> None:
    def ends(limit: float, used_at: datetime | None) -> bool:
        job = SeenJob("j", 1, 1, (), None, idle_limit_seconds=limit, used_at=used_at)
        return is_idle_too_long(job, now=START + timedelta(days=9), warned={})

    assert not ends(0, START)
    assert not ends(60, None)
    assert not ends(60, START)


@pytest.mark.parametrize("given", ["59s", 0, -1, "soon", "9999d"])
def test_a_limit_is_at_least_a_minute(given: object) -> None:
    from danlu.errors import InvalidSpec

    with pytest.raises(InvalidSpec, match="idle_limit: expected"):
        parse_job({"name": "a", "command": "b", "idle_limit": given})
