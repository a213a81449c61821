"""Suites as real jobs on two nodes: every rank leaves its own numbers, and whoever asks collects them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.support.browser import running_browser

from danlu.bench import runs
from danlu.bench.report import Report, Verdict
from danlu.bench.results import collect
from danlu.bench.suite import Mode, Suite, find_suite, parse_suite, read_suite
from danlu.client import Client
from danlu.errors import NotFound
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

QUICK = ["parameters.megabytes=1", "parameters.steps=3", "parameters.warmup=1"]
SMALL_RESNET = [
    *(f"parameters.{one}" for one in ("image_size=8", "width=8", "blocks=1", "batch_size=8", "steps=2", "warmup=1")),
    "device=cpu:2",
    "criteria={}",
]
FOREVER = ["parameters.megabytes=1", "parameters.steps=1000000000", "parameters.warmup=0"]
KILLED = """
python3 -m danlu.bench.inside memory & node=$!
if [ "$INDEX" = 1 ]; then
  until [ -n "$(cat /proc/$node/task/$node/children)" ]; do sleep 0.05; done
  set -- $(cat /proc/$node/task/$node/children)
  kill -9 "$1"
fi
wait $node
"""
"""The first process of the second node is killed."""


def memory(*settings: str, device: str = "cpu:2") -> Suite:
    return read_suite(find_suite("memory"), [*QUICK, f"device={device}", "nodes=2", *settings])


def done(client: Client, suite: Suite, mode: Mode = Mode.NORMAL) -> Report:
    run = runs.start(client, suite, mode=mode)
    runs.wait(run)
    report = runs.make_report(client, run)
    told = "\n".join(line.text for job in run.jobs for line in job.logs())
    assert report.verdict is Verdict.PASSED, (report.problems, told)
    return report


class TestModes:
    def test_normal_adds_up_over_all_ranks(self, client: Client) -> None:
        report = done(client, memory())
        (job,) = report.jobs
        found = job.measures["bandwidth"]
        assert sorted(found.ranks) == [0, 1, 2, 3]
        assert found.value == pytest.approx(sum(found.ranks.values()))
        assert [one.server for one in job.servers] == [0, 1]
        assert job.servers[0].facts["python"]

    def test_every_rank_left_its_own_file_in_the_store(self, client: Client) -> None:
        run = runs.start(client, memory())
        runs.wait(run)
        keys = [item.key for item in client.store.list(f"{run.jobs[0].output}bench/")]
        assert [key.rpartition("/")[2] for key in keys] == [f"rank-{rank}.json" for rank in range(4)]
        found = collect(client, run.jobs[0]).results
        assert [(one.server, one.local_rank) for one in found.values()] == [(0, 0), (0, 1), (1, 0), (1, 1)]
        assert [len(one.samples["bandwidth"]) for one in found.values()] == [3] * 4  # without the warm-up

    def test_single_servers_train_alone(self, client: Client) -> None:
        """Two groups of two ranks; each trains with its own server only, and ends with an accuracy of its own."""
        report = done(client, read_suite(find_suite("resnet-like"), SMALL_RESNET), Mode.SINGLE_SERVER)
        measures = report.jobs[0].measures
        throughput = measures["throughput"]
        assert [one.value for one in throughput.servers] == [
            pytest.approx(throughput.ranks[0] + throughput.ranks[1]),
            pytest.approx(throughput.ranks[2] + throughput.ranks[3]),
        ]
        assert throughput.value == pytest.approx(sum(throughput.ranks.values()) / 2)
        assert sorted(measures["accuracy"].ranks) == [0, 2]

    def test_all_ranks_train_together(self, client: Client) -> None:
        """Two nodes with two ranks each, one model: one accuracy, and the sum over all ranks."""
        report = done(client, read_suite(find_suite("resnet-like"), SMALL_RESNET))
        measures = report.jobs[0].measures
        throughput = measures["throughput"]
        assert (report.jobs[0].num_ranks, report.jobs[0].job.nodes) == (4, 2)
        assert throughput.value == pytest.approx(sum(throughput.ranks.values()))
        assert sorted(measures["accuracy"].ranks) == [0]

    def test_allreduce_of_single_servers(self, client: Client) -> None:
        settings = ["parameters.sizes=[1024, 65536]", "parameters.steps=2", "parameters.warmup=1", "device=cpu:2"]
        report = done(client, read_suite(find_suite("allreduce"), settings), Mode.SINGLE_SERVER)
        (job,) = report.jobs
        bandwidth = job.measures["bandwidth"]
        assert sorted(bandwidth.ranks) == [0, 1, 2, 3]
        assert [one.server for one in bandwidth.servers] == [0, 1]
        assert bandwidth.value == pytest.approx(sum(one.value for one in bandwidth.servers) / 2)
        assert [x for x, _ in job.curves["bandwidth"]] == [1024, 65536]

    def test_allreduce_between_two_nodes(self, client: Client, tmp_path: Path, browser: Browser) -> None:
        settings = ["parameters.sizes=[1024, 65536, 1048576]", "parameters.steps=3", "parameters.warmup=1"]
        report = done(client, read_suite(find_suite("allreduce"), settings))
        curves = report.jobs[0].curves
        assert [x for x, _ in curves["bandwidth"]] == [1024, 65536, 1048576]
        assert min(y for _, y in curves["latency"]) > 0
        page = tmp_path / "report.html"
        page.write_text(runs.render(report, "html"))
        see_report(browser, page, num_charts=4)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


def see_report(browser: Browser, page: Path, *, num_charts: int) -> None:
    """The page is whole by itself: nothing is asked of a server, and every chart has a size."""
    tab = browser.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(page.as_uri())
    assert asked == [page.as_uri()]
    charts = tab.locator("svg")
    assert charts.count() == num_charts
    boxes = [charts.nth(place).bounding_box() for place in range(num_charts)]
    assert [box is not None and box["height"] > 100 for box in boxes] == [True] * num_charts
    assert "passed" in tab.locator("h1").inner_text()
    tab.close()


class TestFailures:
    def test_a_killed_rank_is_named(self, client: Client) -> None:
        values = memory(*FOREVER).model_dump(mode="json") | {"work": None, "command": KILLED}
        run = runs.start(client, parse_suite(values, where="test"))
        runs.wait(run)
        report = runs.make_report(client, run)
        assert report.verdict is Verdict.FAILED
        node = run.jobs[0].details.attempts[-1].tasks[1].node
        assert f"rank 2 on {node} was killed by signal 9" in report.problems
        assert "ranks 0, 1, 3 left no result" in report.problems

    def test_a_rank_that_leaves_nothing_is_named_though_all_went_well(self, client: Client) -> None:
        values = memory().model_dump(mode="json") | {"work": None, "command": f"{sys.executable} -c pass"}
        run = runs.start(client, parse_suite(values | {"device": "cpu:1"}, where="test"))
        runs.wait(run)
        assert runs.make_report(client, run).problems == ["ranks 0, 1 left no result"]

    def test_stop(self, client: Client) -> None:
        run = runs.start(client, memory(*FOREVER))
        runs.stop(client, run)
        runs.wait(run)
        assert runs.make_report(client, runs.find(client, run.id)).verdict is Verdict.STOPPED

    def test_a_run_that_is_not_there(self, client: Client) -> None:
        with pytest.raises(NotFound, match="no run 'bench-000000000000'"):
            runs.find(client, "bench-000000000000")


class TestCommandLine:
    def test_the_laptop_is_killed_and_another_one_attaches(self, server: RunningServer, tmp_path: Path) -> None:
        env = {**os.environ, "DANLU_URL": server.url, "DANLU_API_KEY": server.api_key}
        words = [sys.executable, "-m", "danlu", "bench"]
        chosen = [word for setting in (*QUICK, "nodes=2") for word in ("--set", setting)]
        laptop = subprocess.Popen([*words, "run", "memory", *chosen], env=env, stderr=subprocess.PIPE, text=True)
        assert laptop.stderr is not None
        run = laptop.stderr.readline().split()[1].rstrip(":")
        laptop.send_signal(signal.SIGKILL)
        laptop.wait()
        laptop.stderr.close()
        other = subprocess.run([*words, "attach", run, "--json"], env=env, capture_output=True, text=True, check=True)
        report = json.loads(other.stdout)
        assert (report["run"], report["verdict"]) == (run, "passed")
        assert sorted(report["jobs"][0]["measures"]["bandwidth"]["ranks"]) == ["0", "1"]
        page = tmp_path / "report.html"
        made = [*words, "report", run, "--format", "html", "-o", str(page)]
        subprocess.run(made, env=env, check=True, capture_output=True)
        assert page.read_text().startswith("<!doctype html>")
        with server.client() as client:
            names = {
                item.key.rpartition("/")[2]
                for item in client.store.list(f"{runs.find(client, run).jobs[0].output}bench/")
            }
            assert {"report.json", "report.md", "report.html"} <= names
            assert [one.id for one in runs.history(client, "memory", limit=1)] == [run]


def test_scaling_over_numbers_of_nodes(client: Client) -> None:
    run = runs.start(client, memory(device="cpu:1"), nodes=[2, 1])
    runs.wait(run)
    report = runs.make_report(client, runs.find(client, run.jobs[0].id))
    assert [one.nodes for one in report.scaling] == [1, 2]
    assert report.scaling[0].efficiency == 1.0


def test_work_that_runs_without_torch(client: Client) -> None:
    small = {
        "storage": ["parameters.megabytes=1", "parameters.files=5", "parameters.steps=1"],
        "dataload": [
            "parameters.samples=16",
            "parameters.kilobytes=4",
            "parameters.batch_size=8",
            "parameters.steps=2",
        ],
    }
    begun = [runs.start(client, read_suite(find_suite(name), settings)) for name, settings in small.items()]
    for run in begun:
        runs.wait(run)
        report = runs.make_report(client, run)
        assert (report.verdict, report.problems) == (Verdict.PASSED, [])
        assert report.main is not None
        assert report.main.value > 0


def test_work_with_torch(client: Client) -> None:
    small = {
        "matmul": ["parameters.size=16", "parameters.steps=2"],
        "transformer-like": [
            *(f"parameters.{one}" for one in ("width=8", "heads=2", "layers=1", "length=8", "steps=2", "warmup=1")),
            "criteria={}",
        ],
    }
    begun = [runs.start(client, read_suite(find_suite(name), settings)) for name, settings in small.items()]
    for run in begun:
        runs.wait(run)
        report = runs.make_report(client, run)
        assert (report.verdict, report.problems) == (Verdict.PASSED, [])


def test_wait_gives_up_after_its_limit_and_the_run_goes_on(client: Client) -> None:
    run = runs.start(client, memory(*FOREVER))
    wait_until(lambda: str(run.jobs[0].refresh().state) == "running")
    with pytest.raises(TimeoutError, match="is still running"):
        runs.wait(run, timeout_seconds=0.1)
    assert not run.jobs[0].refresh().is_over
    runs.stop(client, run)
    runs.wait(run)
