"""Benchmarks in the console: runs, verdicts, the numbers of each rank."""

from __future__ import annotations

import re

from tests.support.browser import Tab

from danlu.bench import runs
from danlu.bench.suite import find_suite, read_suite
from danlu.testing.serving import RunningServer

QUICK = ["parameters.megabytes=1", "parameters.steps=2", "parameters.warmup=0", "device=cpu:2"]


def test_a_run_is_shown_with_the_numbers_of_its_ranks(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        kept = runs.start(client, read_suite(find_suite("memory"), QUICK))
        runs.wait(kept)
        runs.keep_report(client, kept, report=runs.make_report(client, kept))
        failed = runs.start(client, read_suite(find_suite("memory"), [*QUICK, "criteria.bandwidth.at_least=1e9"]))
        runs.wait(failed)
        runs.keep_report(client, failed, report=runs.make_report(client, failed))
        alone = runs.start(client, read_suite(find_suite("memory"), QUICK))
        runs.wait(alone)
    page = admin.go("/bench")
    page.get_by_role("row", name=alone.id).get_by_text("Not collected").wait_for()
    row = page.get_by_role("row", name=kept.id)
    row.get_by_text("Passed").wait_for()
    row.get_by_role("link").click()
    report = page.get_by_role("region", name=kept.id)
    report.get_by_text("bandwidth of each rank", exact=True).wait_for()
    for text in (r"^Rank 0\b", r"^Rank 1\b"):  # an outlier is called that
        report.get_by_text(re.compile(text)).wait_for()
    report = admin.go(f"/bench?run={failed.id}").get_by_role("region", name=failed.id)
    report.get_by_text("bandwidth on 1 nodes: expected at least 1e+09").wait_for()
    shown = admin.go(f"/bench?run={alone.id}").get_by_role("region", name=alone.id)
    shown.get_by_text(f"danlu bench attach {alone.id}").wait_for()
