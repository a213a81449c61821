"""Alerts: noticed, told to those concerned, and over when it is over."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from tests.support.steps import want
from tests.support.world import START, Api, World

from danlu.engines.base import LogMark
from danlu.journal.usage import Cell, Header, pack, pack_header
from danlu.server.alerts.rules import Limits, SeenDisk, SeenJob, SeenTask, find_in_disk, find_in_job
from danlu.server.alerts.watch import look
from danlu.spec.monitoring.alerts import ALERTS, AlertKind, alert_message
from danlu.store.metrics.usage import UsageFiles

NAN = math.nan
LIMITS = Limits(device_idle_seconds=600, silent_seconds=600, memory_share=0.9, disk_share=0.9)


def task(rank: int = 0, **changes: Any) -> SeenTask:
    values: dict[str, Any] = {
        "rank": rank,
        "num_devices": 2,
        "idle_seconds": 0.0,
        "memory_bytes": 10.0,
        "memory_limit_bytes": 100,
        "sign_at": START,
        **changes,
    }
    return SeenTask(**values)


def kinds(*tasks: SeenTask, after: float = 0.0, limits: Limits = LIMITS, **changes: Any) -> list[tuple[str, Any]]:
    job = SeenJob(**{"id": "j", "attempt": 1, "project_id": 1, "tasks": tasks, "metric_at": None, **changes})
    found = find_in_job(job, limits, now=START + timedelta(seconds=after), is_open=frozenset())
    return [(one.key.kind.value, one.details.get("rank")) for one in found]


class TestRules:
    def test_nothing_is_wrong_with_a_job_at_work(self) -> None:
        assert kinds(task(), task(1), after=599) == []

    def test_idle_devices_are_those_of_a_rank(self) -> None:
        assert kinds(task(), task(1, idle_seconds=600.0)) == [("device_idle", 1)]
        assert kinds(task(idle_seconds=599.0)) == []
        assert kinds(task(idle_seconds=None)) == [], "not measured is not idle"

    def test_memory_near_its_limit(self) -> None:
        assert kinds(task(memory_bytes=90.0)) == [("memory_high", 0)]
        assert kinds(task(memory_bytes=89.0)) == []
        assert kinds(task(memory_bytes=90.0, memory_limit_bytes=0)) == [], "without a limit there is no end of it"

    def test_silence_names_the_rank_that_fell_silent_first(self) -> None:
        later = START + timedelta(seconds=30)
        tasks = (task(sign_at=later), task(1), task(2, sign_at=later))
        assert kinds(*tasks, after=630) == [("silent", 1)]
        assert kinds(*tasks, after=629) == [], "one of them said something 599 s ago"

    def test_a_metric_is_a_sign_of_life(self) -> None:
        assert kinds(task(), after=700, metric_at=START + timedelta(seconds=300)) == []

    def test_rules_can_be_turned_off(self) -> None:
        off = Limits(device_idle_seconds=0, silent_seconds=0, memory_share=0, disk_share=0)
        assert kinds(task(idle_seconds=9e9, memory_bytes=100.0), after=9e6, limits=off) == []
        assert list(find_in_disk(SeenDisk("/data", 100, 0), off, is_open=frozenset())) == []

    def test_an_alert_does_not_flicker(self) -> None:
        (first,) = find_in_disk(SeenDisk("/data", 100, 10), LIMITS, is_open=frozenset())
        was = frozenset({first.key})
        assert list(find_in_disk(SeenDisk("/data", 100, 12), LIMITS, is_open=frozenset())) == []
        assert len(list(find_in_disk(SeenDisk("/data", 100, 12), LIMITS, is_open=was))) == 1
        assert list(find_in_disk(SeenDisk("/data", 100, 15), LIMITS, is_open=was)) == []


@pytest.mark.parametrize("kind", AlertKind)
def test_every_kind_has_an_entry_and_a_sentence(kind: AlertKind) -> None:
    details: dict[str, str | int | float | None] = {
        **{"rank": 1, "num_devices": 8, "idle_seconds": 1800, "silent_seconds": 600, "used_bytes": 95, "run": "r"},
        **{"limit_bytes": 100, "metric": "loss", "value": "nan", "step": 7, "free_bytes": 5, "total_bytes": 100},
        **{"folder": "/data", "left_seconds": 600},
    }
    assert ALERTS[kind].cause.endswith(".")
    assert "{" not in alert_message(kind, details)


class TestQuietSeconds:
    """How long devices have done nothing, from what was measured."""

    def quiet(self, world: World, *busy: float) -> float | None:
        cells = b"".join(
            pack(Cell(1000.0 + 5 * number, 5.0, (1.0, 1.0, NAN, NAN, NAN, NAN, value, NAN), (NAN,) * 8))
            for number, value in enumerate(busy)
        )
        files = UsageFiles(world.settings.log_dir)
        files.put("j", 1, 0, offset=0, data=pack_header(Header(0, 5.0)) + cells)
        return files.quiet_seconds("j", 1, rank=0, quantity="device", below=0.05)

    def test_from_the_last_time_it_was_not(self, world: World) -> None:
        assert self.quiet(world, 0.0, 0.0, 0.0) == 15
        assert self.quiet(world, 0.0, 0.9, 0.0, 0.01) == 10
        assert self.quiet(world, 0.0, 0.0, 0.9) == 0
        assert self.quiet(world, 0.9, NAN, NAN, 0.0) == 5, "what was not measured is neither"

    def test_not_measured_is_not_quiet(self, world: World) -> None:
        assert self.quiet(world, NAN, NAN) is None
        assert UsageFiles(world.settings.log_dir).quiet_seconds("k", 1, rank=0, quantity="device", below=0.05) is None


def idle(world: World, job: str, seconds: int) -> None:
    values = (1.0, 1.0, NAN, NAN, NAN, NAN, 0.0, NAN)
    cells = b"".join(pack(Cell(1000.0 + 5 * number, 5.0, values, values)) for number in range(seconds // 5))
    UsageFiles(world.settings.log_dir).put(job, 1, 0, offset=0, data=pack_header(Header(0, 5.0)) + cells)


def test_an_alert_is_on_the_job_and_its_owner_is_told_once(world: World, api: Api) -> None:
    max_ = world.add_user("max", "vision")
    job = world.started(who=max_, resources={"device": "npu:910b:2"}, project="vision")
    idle(world, job, 1800)
    look(world.state)
    look(world.state)
    (alert,) = api.json("GET", f"/jobs/{job}/alerts")["items"]
    assert (alert["kind"], alert["job"], alert["project"], alert["closed_at"]) == ("device_idle", job, "vision", None)
    assert alert["details"] == {"rank": 0, "num_devices": 2, "idle_seconds": 1800}
    assert alert["message"] == "the 2 devices of rank 0 have done nothing for 30m00s"
    assert api.json("GET", "/alerts?open=true")["items"] == [alert]
    with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(max_)) as theirs:
        told = theirs.json("GET", "/notices")
        assert [(one["kind"], one["alert_kind"], one["job"]) for one in told["items"]] == [
            ("alert.opened", "device_idle", job)
        ]
        assert told["num_unread"] == 1
        assert theirs("PUT", "/notices/read", json={"up_to": told["items"][0]["id"]}).status_code == 204
        assert theirs.json("GET", "/notices")["num_unread"] == 0
    assert api.json("GET", "/notices")["items"] == [], "others are not told"
    idle(world, job, 5)
    look(world.state)
    (alert,) = api.json("GET", f"/jobs/{job}/alerts")["items"]
    assert alert["closed_at"] is not None
    assert api.json("GET", "/alerts?open=true")["items"] == []


def test_an_alert_is_over_with_its_job(world: World, api: Api) -> None:
    job = world.started(resources={"device": "npu:910b:2"})
    idle(world, job, 1800)
    look(world.state)
    world.engine.finish(job)
    world.tick(2)
    look(world.state)
    assert [one["closed_at"] is None for one in api.json("GET", f"/jobs/{job}/alerts")["items"]] == [False]
    assert api("DELETE", f"/jobs/{job}").status_code == 204
    assert api.json("GET", "/alerts")["items"] == []


def test_silence_is_measured_from_the_last_line_of_the_log(world: World, api: Api) -> None:
    job = world.started(nodes=2)
    world.clock.pass_seconds(1700)
    said = world.engine.task(job, 1)
    said.log += b"step 1\n"
    said.marks.append(LogMark(offset=7, at=world.clock().timestamp()))
    world.tick()
    world.clock.pass_seconds(1799)
    look(world.state)
    assert api.json("GET", f"/jobs/{job}/alerts")["items"] == []
    world.clock.pass_seconds(1)
    look(world.state)
    (alert,) = api.json("GET", f"/jobs/{job}/alerts")["items"]
    assert (alert["kind"], alert["details"]) == ("silent", {"rank": 0, "silent_seconds": 1800})


def test_a_loss_that_is_not_a_number(world: World, api: Api) -> None:
    job = world.started()
    sent = api("POST", f"/jobs/{job}/metrics", json={"metrics": [{"step": 7, "values": {"loss": "nan", "acc": 0.5}}]})
    assert sent.status_code < 300, sent.text
    world.state.metrics.ingest_changed()
    look(world.state)
    (alert,) = api.json("GET", f"/jobs/{job}/alerts")["items"]
    assert (alert["kind"], alert["details"]["metric"], alert["details"]["value"]) == ("loss_not_finite", "loss", "nan")
    assert alert["details"]["step"] == 7


def push_loss(world: World, api: Api, job: str, value: float | str) -> None:
    sent = api("POST", f"/jobs/{job}/metrics", json={"metrics": [{"values": {"loss": value}}]})
    assert sent.status_code < 300, sent.text
    world.state.metrics.ingest_changed()


def open_alerts(world: World, api: Api) -> list[tuple[str, int]]:
    look(world.state)
    return [(one["kind"], one["attempt"]) for one in api.json("GET", "/alerts?open=true")["items"]]


def test_a_loss_of_an_earlier_attempt_is_not_one_of_this(world: World, api: Api) -> None:
    """Both attempts record to the same run."""
    job = world.started()
    push_loss(world, api, job, "nan")
    assert open_alerts(world, api) == [("loss_not_finite", 1)]
    world.engine.finish(job, code=1)
    world.tick()
    world.clock.pass_seconds(1)
    want(world, job, "start")
    world.tick()
    world.engine.run(job, 2)
    world.tick()
    assert open_alerts(world, api) == []
    push_loss(world, api, job, "nan")
    assert open_alerts(world, api) == [("loss_not_finite", 2)]
    push_loss(world, api, job, 0.5)
    assert open_alerts(world, api) == []


def test_a_loss_of_a_run_in_the_trash_is_no_alert(world: World, api: Api) -> None:
    job = world.started()
    push_loss(world, api, job, "nan")
    assert open_alerts(world, api) == [("loss_not_finite", 1)]
    (run,) = api.json("GET", f"/runs?job={job}")["items"]
    assert api("DELETE", f"/runs/{run['id']}").status_code < 300
    assert open_alerts(world, api) == []


def test_a_disk_that_is_nearly_full_is_for_admins(world: World, api: Api) -> None:
    max_ = world.add_user("max", "vision")
    object.__setattr__(world.state, "settings", world.settings.model_copy(update={"alert_disk_share": 1e-9}))
    look(world.state)
    (alert,) = api.json("GET", "/alerts")["items"]
    assert (alert["kind"], alert["job"], alert["project"]) == ("disk_full_soon", None, None)
    assert [one["kind"] for one in api.json("GET", "/notices")["items"]] == ["alert.opened"]
    with Api(str(api.http.base_url).removesuffix("/api/v1/"), world.api_key(max_)) as theirs:
        assert theirs.json("GET", "/alerts")["items"] == []
        assert theirs.json("GET", "/notices")["items"] == []
