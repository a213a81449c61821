"""A Tester, and runs that a job starts; on a real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone

import pytest
from tests.support.receivers import receiving

from danlu.bench import runs, tester
from danlu.bench.report import Verdict
from danlu.bench.schedule import moments, next_at, parse_time, submit_schedule
from danlu.bench.suite import Mode, Suite, find_suite, read_suite
from danlu.client import Client
from danlu.errors import InvalidInput, NotAllowed, ServerUnreachable
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

ENTRY = {"run": "bench-a", "suite": "memory", "who": "ada", "measure": "bandwidth", "unit": "GB/s", "better": "higher"}
RECORD = {"entry": {**ENTRY, "value": 9.0, "nodes": 1, "num_ranks": 1}}
QUICK = ["parameters.megabytes=1", "parameters.steps=2", "parameters.warmup=0"]


def never(seconds: float) -> None:
    raise AssertionError(f"nothing is to be tried again, and {seconds} s were to be waited for it")


def quick() -> Suite:
    return read_suite(find_suite("memory"), QUICK)


class TestTester:
    def test_posted_results_make_a_leaderboard(self, client: Client) -> None:
        run = runs.start(client, quick())
        runs.wait(run)
        report = runs.make_report(client, run)
        record = tester.record_of(report, who="ada")
        assert record["train_result_info"]["throughput_ratio"] == "0"  # this suite measures something else
        for value, name in ((2.0, "bench-b"), (9.0, "bench-a"), (1.0, "bench-b")):
            entry = {**record["entry"], "value": value, "run": name, "suite": "board-test"}
            tester.post(client, {**record, "entry": entry}, bucket="main", limit_seconds=0)
        found = tester.board(client, "board-test", bucket="main")
        assert [(one.run, one.value, one.who) for one in found] == [("bench-a", 9.0, "ada"), ("bench-b", 1.0, "ada")]
        assert tester.board(client, "nobody-posted", bucket="main") == []

    def test_a_server_that_is_away_is_asked_again(self, make_server: Callable[..., RunningServer]) -> None:
        server = make_server()
        with server.client() as client:
            run = runs.start(client, quick())
            runs.wait(run)
            record = tester.record_of(runs.make_report(client, run), who="ada")
            server.kill()
            pauses: list[float] = []

            def pause(seconds: float) -> None:
                pauses.append(seconds)
                if len(pauses) == 2:
                    server.start()

            tester.post(client, record, bucket="main", limit_seconds=1000, pause=pause)
            assert [0.7 <= pauses[0] <= 1.3, 1.4 <= pauses[1] <= 2.6] == [True, True]
            assert len(tester.board(client, "memory", bucket="main")) == 1

    def test_a_server_that_is_not_ours_is_asked_until_it_takes_the_record(self) -> None:
        record = {**RECORD, "train_result_info": {"throughput_ratio": "9"}}
        pauses: list[float] = []
        with receiving() as judge:
            answers = iter((429, 201))
            judge.status = 503

            def pause(seconds: float) -> None:
                pauses.append(seconds)
                judge.status = next(answers)

            tester.post_plain(judge.url("/results"), record, key="k1", limit_seconds=1000, pause=pause)
        assert len(pauses) == 2
        assert [(one.path, json.loads(one.body)) for one in judge.got] == [("/results", record)] * 3
        headers = {name.lower(): value for name, value in judge.got[-1].headers.items()}
        assert headers["authorization"] == "Bearer k1"
        assert (headers["content-type"], headers["idempotency-key"]) == ("application/json", "bench-a")

    @pytest.mark.parametrize(("status", "kind"), [(401, NotAllowed), (422, InvalidInput), (307, InvalidInput)])
    def test_what_it_refuses_is_told_at_once(self, status: int, kind: type[Exception]) -> None:
        with receiving() as judge:
            judge.status = status
            with pytest.raises(kind, match=f"answered {status}"):
                tester.post_plain(judge.url(), RECORD, key="k1", limit_seconds=1000, pause=never)
        assert len(judge.got) == 1

    def test_a_server_that_stays_away_is_given_up(self) -> None:
        with receiving() as judge:
            url = judge.url()
        with pytest.raises(ServerUnreachable, match="does not answer"):
            tester.post_plain(url, RECORD, key="k1", limit_seconds=0, pause=never)
        with pytest.raises(InvalidInput, match="expected an address such as"):
            tester.post_plain("tester:9527", RECORD, key="k1", limit_seconds=1000, pause=never)

    def test_a_run_that_did_not_pass_is_not_posted(self, client: Client) -> None:
        run = runs.start(client, read_suite(find_suite("memory"), [*QUICK, "criteria.bandwidth.at_least=1e9"]))
        runs.wait(run)
        report = runs.make_report(client, run)
        assert report.verdict is Verdict.FAILED
        with pytest.raises(InvalidInput, match="only runs that passed are posted"):
            tester.record_of(report, who="ada")


class TestSchedule:
    def test_the_next_time_of_the_day(self) -> None:
        noon = datetime(2026, 11, 18, 12, 0, tzinfo=timezone.utc)
        assert next_at(noon, "12:30").isoformat() == "2026-11-18T12:30:00+00:00"
        assert next_at(noon, "12:00").isoformat() == "2026-11-19T12:00:00+00:00"
        days = moments(noon, at="02:00", every_seconds=0)
        assert [next(days).day for _ in range(3)] == [19, 20, 21]

    def test_what_is_no_time(self) -> None:
        with pytest.raises(InvalidInput, match="expected a time such as 02:30, got '25:00'"):
            parse_time("25:00")

    def test_a_job_starts_runs_until_it_is_stopped(self, client: Client) -> None:
        suite = read_suite(find_suite("memory"), [*QUICK, "name=scheduled"])
        job = submit_schedule(client, suite, mode=Mode.NORMAL, every_seconds=0.1)
        found = wait_until(
            lambda: [one for one in runs.history(client, "scheduled") if one.is_over],
            lambda: [line.text for line in job.logs()],
        )
        client.jobs.stop([job])
        job.wait()
        assert runs.make_report(client, found[0]).verdict is Verdict.PASSED
        for one in runs.history(client, "scheduled"):
            runs.wait(one)
