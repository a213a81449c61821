"""What Prometheus reads: every documented name is there, no other is, and only those read it who may."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.support.world import World

from danlu.auth.identity import Role
from danlu.journal.usage import Cell, Header, pack, pack_header
from danlu.server.monitoring.names import METRICS
from danlu.store.metrics.usage import UsageFiles

NAN = math.nan


@pytest.fixture
def http(world: World) -> Iterator[httpx.Client]:
    token = world.folder / "token"
    token.write_text("scrape-me\n")
    world.state = replace(world.state, settings=world.settings.model_copy(update={"metrics_token_file": token}))
    with world.serving() as url, httpx.Client(base_url=url, timeout=None) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def scrape(http: httpx.Client) -> dict[str, Metric]:
    answer = http.get("/metrics", headers=bearer("scrape-me"))
    assert answer.status_code == 200, answer.text
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def values(families: dict[str, Metric], name: str) -> dict[tuple[str, ...], float]:
    """Values of a metric by its labels, in the order of the documentation."""
    labels = next(metric.labels for metric in METRICS if metric.name == name)
    found = [sample for family in families.values() for sample in family.samples if sample.name == name]
    return {tuple(sample.labels[label] for label in labels): sample.value for sample in found}


def measured(world: World, job: str) -> None:
    """The task was measured once: 3 cores, 100 bytes, its devices at work for half of the time."""
    values = (3.0, 100.0, NAN, NAN, NAN, NAN, 0.5, 200.0)
    cell = pack(Cell(world.clock().timestamp(), 5.0, values, values))
    UsageFiles(world.settings.log_dir).put(job, 1, 0, offset=0, data=pack_header(Header(0, 5.0)) + cell)


def test_every_documented_metric_is_there_and_no_other(world: World, http: httpx.Client) -> None:
    job = world.started(resources={"device": "npu:910b:2", "memory": "4GiB"})
    measured(world, job)
    world.submit(resources={"device": "npu:910b:8"})
    world.tick()
    http.get("/api/v1/health")
    with world.state.instruments.look("queue"):
        pass
    families = scrape(http)
    names = {sample.name for family in families.values() for sample in family.samples}
    there = {name.removesuffix("_bucket") for name in names if name.startswith("danlu_")}
    there -= {name for name in there if name.endswith(("_sum", "_count"))}
    assert there == {metric.name for metric in METRICS}
    labels = {
        sample.name.removesuffix("_bucket"): set(sample.labels) - {"le"}
        for family in families.values()
        for sample in family.samples
        if sample.name.startswith("danlu_") and not sample.name.endswith(("_sum", "_count"))
    }
    assert labels == {metric.name: set(metric.labels) for metric in METRICS}
    kinds = {name: family.type for name, family in families.items()}
    assert {metric.name: kinds[metric.name.removesuffix("_total")] for metric in METRICS} == {
        metric.name: metric.kind for metric in METRICS
    }


def test_the_values_are_those_of_the_platform(world: World, http: httpx.Client) -> None:
    job = world.started(resources={"device": "npu:910b:2", "memory": "4GiB"}, name="mnist")
    measured(world, job)
    world.submit(resources={"device": "npu:910b:8"})
    world.tick()
    world.clock.pass_seconds(60)
    families = scrape(http)
    assert values(families, "danlu_jobs")["running",] == 1
    assert values(families, "danlu_queue_jobs") == {("default",): 1}
    assert values(families, "danlu_queue_oldest_seconds")["default",] == pytest.approx(60)
    assert values(families, "danlu_queue_reasons") == {("no_capacity",): 1}
    assert values(families, "danlu_job_info") == {(job, "mnist", "default", "admin", "running"): 1}
    assert values(families, "danlu_devices") == {("here", "npu", "910b"): 8}
    assert values(families, "danlu_devices_held") == {("here", "npu", "910b"): 2}
    assert values(families, "danlu_task_cpu_cores") == {(job, "0", "here"): 3}
    assert values(families, "danlu_task_memory_limit_bytes") == {(job, "0", "here"): 4 << 30}
    assert values(families, "danlu_task_device_busy_ratio") == {(job, "0", "here"): 0.5}
    assert values(families, "danlu_node_cpus_used") == {("here",): 3}
    world.engine.unreachable.add("here")
    world.tick(scheduler=world.new_scheduler("server-1"))
    assert values(scrape(http), "danlu_node_up") == {("here", "local"): 0}


def test_requests_are_counted_by_route_and_not_by_path(world: World, http: httpx.Client) -> None:
    key = bearer(world.api_key())
    for number in range(3):
        assert http.get(f"/api/v1/jobs/nothing-{number}", headers=key).status_code == 404
    http.get("/api/v1/jobs")
    http.get("/no/such/page")
    http.request("BREW", "/api/v1/jobs")
    counted = values(scrape(http), "danlu_http_requests_total")
    assert counted["GET", "/jobs/{job}", "404"] == 3
    assert counted["GET", "/jobs", "401"] == 1
    assert counted["GET", "other", "404"] == 1
    assert [method for method, _, _ in counted if method not in ("GET", "other")] == []


def test_a_look_that_fails_is_counted(world: World, http: httpx.Client) -> None:
    with pytest.raises(ZeroDivisionError), world.state.instruments.look("watch"):
        raise ZeroDivisionError
    assert values(scrape(http), "danlu_scheduler_failures_total") == {(): 1}


class TestWhoMayRead:
    def test_the_token_of_the_file_and_admins(self, world: World, http: httpx.Client) -> None:
        assert http.get("/metrics", headers=bearer("scrape-me")).status_code == 200
        assert http.get("/metrics", headers=bearer(world.api_key())).status_code == 200

    def test_nobody_else(self, world: World, http: httpx.Client) -> None:
        owner = world.add_user("olga", "vision", Role.OWNER)
        job = world.started()
        tried = {
            "nothing": (http.get("/metrics"), 401),
            "another token": (http.get("/metrics", headers=bearer("scrape-m")), 401),
            "an empty token": (http.get("/metrics", headers={"Authorization": "Bearer"}), 401),
            "an owner of a project": (http.get("/metrics", headers=bearer(world.api_key(owner))), 403),
            "a job": (http.get("/metrics", headers=bearer(world.job_token(job))), 403),
        }
        wrong = {who: answer.status_code for who, (answer, status) in tried.items() if answer.status_code != status}
        assert wrong == {}

    def test_a_file_that_is_empty_or_gone_lets_nobody_in(self, world: World, http: httpx.Client) -> None:
        (world.folder / "token").write_text("\n")
        assert http.get("/metrics", headers={"Authorization": "Bearer"}).status_code == 401
        (world.folder / "token").unlink()
        assert http.get("/metrics", headers=bearer("scrape-me")).status_code == 403
