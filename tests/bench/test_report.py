"""Reports: what is missing is named, and the pages show what they should."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from danlu.bench.charts import BOTTOM, HEIGHT
from danlu.bench.html import to_html
from danlu.bench.markdown import to_markdown
from danlu.bench.report import JobFacts, Report, Verdict, compare, report_job, report_run
from danlu.bench.results import Collected, RankResult, read_results
from danlu.bench.suite import Mode, Suite, parse_suite
from danlu.spec.messages.catalogue import in_chinese
from danlu.spec.states import JobState


def make_suite(**fields: object) -> Suite:
    values = {
        "name": "memory",
        "work": "memory",
        "nodes": 2,
        "device": "cpu:2",
        "measures": {"bandwidth": {"unit": "GB/s"}},
    }
    return parse_suite({**values, **fields}, where="test")


def make_files(values: dict[int, float], *, attempt: int = 1) -> dict[str, str]:
    return {
        f"rank-{rank}.json": json.dumps(
            {
                "rank": rank,
                "num_ranks": 4,
                "server": rank // 2,
                "node": f"<n{rank // 2}>",
                "attempt": attempt,
                "metrics": {"bandwidth": value},
            }
        )
        for rank, value in values.items()
    }


def make_report(
    files: dict[str, str], *, suite: Suite | None = None, state: JobState = JobState.SUCCEEDED, nodes: int = 2
) -> Report:
    chosen = suite or make_suite()
    job = JobFacts(id="train-1", state=state, reason="as asked", nodes=nodes, mode=Mode.NORMAL)
    return report_run("bench-1", chosen, jobs=[report_job(chosen, job, collected=read_results(files, attempt=1))])


FULL = {0: 10.0, 1: 10.0, 2: 10.0, 3: 10.0}


class TestProblems:
    def test_a_complete_run_passes(self) -> None:
        report = make_report(make_files(FULL))
        assert (report.verdict, report.problems) == (Verdict.PASSED, [])
        assert report.main is not None
        assert report.main.value == 40

    def test_a_missing_rank_is_named_though_the_job_succeeded(self) -> None:
        report = make_report(make_files({0: 1.0, 1: 1.0, 3: 1.0}))
        assert (report.verdict, report.problems) == (Verdict.FAILED, ["rank 2 left no result"])

    def test_the_rank_that_failed_is_named_before_those_that_were_ended(self) -> None:
        files = make_files({0: 1.0}) | {
            "failed-3.json": json.dumps({"rank": 3, "node": "n1", "how": "was killed by signal 9", "attempt": 1})
        }
        report = make_report(files, state=JobState.FAILED)
        assert report.problems == [
            "train-1 failed",
            "rank 3 on n1 was killed by signal 9",
            "ranks 1, 2 left no result",
        ]

    def test_problems_are_told_in_chinese_as_well(self) -> None:
        files = make_files({0: 1.0}) | {
            "rank-1.json": "{",
            "failed-3.json": json.dumps({"rank": 3, "node": "n1", "how": "was killed by signal 9", "attempt": 1}),
        }
        told = [in_chinese(one) for one in make_report(files, state=JobState.FAILED).problems_said]
        assert told[:3] == ["任务 train-1 已失败", "n1 上的 Rank 3 被信号 9 终止", "Rank 1、2 没有留下结果"]
        assert told[3].startswith("Rank 1：无法读取其结果：")
        suite = make_suite(criteria={"bandwidth": {"at_least": 50}})
        (said,) = make_report(make_files(FULL), suite=suite).problems_said
        assert in_chinese(said) == "2 个节点上的 bandwidth：应为至少 50，实际为 40"

    def test_results_of_an_earlier_attempt_do_not_count(self) -> None:
        report = make_report(make_files({0: 1.0, 1: 1.0, 2: 1.0}) | make_files({3: 1.0}, attempt=0))
        assert report.problems == ["rank 3 left no result"]

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"rank": 1}', "null"])
    def test_a_file_that_is_no_result_is_named(self, text: str) -> None:
        report = make_report(make_files(FULL) | {"rank-1.json": text})
        assert report.verdict is Verdict.FAILED
        assert any(problem.startswith("rank 1: its result cannot be read") for problem in report.problems)

    def test_a_result_under_the_name_of_another_rank_is_named(self) -> None:
        files = make_files(FULL)
        report = make_report(files | {"rank-1.json": files["rank-2.json"]})
        assert "rank 1: its result says that it is rank 2" in report.problems

    def test_what_is_no_number_is_named(self) -> None:
        files = make_files(FULL)
        report = make_report(files | {"rank-0.json": files["rank-0.json"].replace("10.0", "NaN")})
        assert "rank 0: bandwidth: expected a number, got nan" in report.problems

    def test_more_ranks_than_expected(self) -> None:
        report = make_report(make_files(FULL), nodes=1)
        assert "expected 2 ranks, got a result of ranks 2, 3" in report.problems

    def test_criteria(self) -> None:
        suite = make_suite(criteria={"bandwidth": {"at_least": 50}})
        assert make_report(make_files(FULL), suite=suite).problems == [
            "bandwidth on 2 nodes: expected at least 50, got 40"
        ]

    def test_a_run_that_goes_on_is_not_failed(self) -> None:
        report = make_report({}, state=JobState.RUNNING)
        assert (report.verdict, report.problems) == (Verdict.UNFINISHED, [])


def test_power_is_shown_where_nodes_tell_it() -> None:
    files = make_files(FULL)
    for rank in (0, 2):
        files[f"rank-{rank}.json"] = files[f"rank-{rank}.json"].replace(
            '"bandwidth": 10.0', '"bandwidth": 10.0, "average_power": 75.5'
        )
    report = make_report(files)
    assert (report.verdict, report.problems) == (Verdict.PASSED, [])
    assert list(report.jobs[0].measures) == ["bandwidth", "average_power"]
    assert report.jobs[0].measures["average_power"].value == 151.0


def test_scaling_efficiency() -> None:
    suite = make_suite(device="cpu:1")
    jobs = []
    for nodes, value in ((1, 10.0), (2, 9.0)):
        results = {
            rank: RankResult(rank=rank, num_ranks=nodes, server=rank, node="n", metrics={"bandwidth": value})
            for rank in range(nodes)
        }
        facts = JobFacts(id=f"train-{nodes}", state=JobState.SUCCEEDED, nodes=nodes, mode=Mode.NORMAL)
        jobs.append(report_job(suite, facts, collected=Collected(results=results)))
    report = report_run("bench-1", suite, jobs=jobs)
    assert [(one.nodes, one.value, one.efficiency) for one in report.scaling] == [(1, 10.0, 1.0), (2, 18.0, 0.9)]
    assert "90.0 %" in to_markdown(report)
    curve = to_html(report).partition("<h2>Scaling</h2>")[2]
    measured, ideal = (_heights(curve, kind) for kind in ("line", "ideal"))
    assert measured[0] == ideal[0]
    assert measured[1] / ideal[1] == pytest.approx(0.9, abs=0.01)


def _heights(svg: str, kind: str) -> list[float]:
    """How high the points of a line are above the axis."""
    places = svg.partition(f'<polyline class="{kind}" points="')[2].partition('"')[0].split()
    return [HEIGHT - BOTTOM - float(place.split(",")[1]) for place in places]


def test_comparison_marks_what_is_worse() -> None:
    slow, fast = make_report(make_files(dict.fromkeys(range(4), 8.0))), make_report(make_files(FULL))
    worse = compare(slow, fast, tolerance=0.1).comparison
    assert worse is not None
    assert [(one.measure, one.is_worse, round(one.change, 3)) for one in worse.changes] == [("bandwidth", True, -0.2)]
    better = compare(fast, slow, tolerance=0.1).comparison
    assert better is not None
    assert [one.is_worse for one in better.changes] == [False]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


class TestPages:
    def test_html_is_one_page_with_charts_and_escapes_names(self) -> None:
        report = compare(make_report(make_files(FULL | {3: 5.0})), make_report(make_files(FULL)), tolerance=0.1)
        page = _Tags()
        page.feed(text := to_html(report))
        assert page.links == []
        assert page.tags.count("svg") == 2
        assert "script" not in page.tags
        assert "<n1>" not in text
        assert "&lt;n1&gt;" in text

    def test_json_holds_all_that_the_pages_show(self) -> None:
        report = make_report(make_files(FULL))
        assert Report.model_validate_json(report.model_dump_json()) == report

    def test_markdown_has_a_row_for_each_rank(self) -> None:
        text = to_markdown(make_report(make_files(FULL)))
        assert [f"| {rank} | 10 |" in text for rank in range(4)] == [True] * 4
