"""A job's own pages: where it stands at a glance, its ranks over time, and a terminal in its tasks."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.support.browser import Tab

from danlu.spec.states import JobState
from danlu.testing.gates import HOLD
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until

TRAINS = """
from danlu import track
run = track.start("curve")
for step in range(20):
    run.log("train", {"accuracy": step / 20, "loss": 1 / (step + 1)}, step=step)
run.finish()
print("trained")
"""


def test_the_first_page_has_the_curve_the_tail_and_the_results(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(
            name="curve", command=["sh", "-c", f"python3 -c '{TRAINS}' && echo x > $DANLU_OUTPUT_DIR/model.pt"]
        )
        assert job.wait().state is JobState.SUCCEEDED, [str(line) for line in job.logs()]
        page = admin.go(f"/jobs/{job.id}")
        expect(page.get_by_role("img", name=re.compile("^train.loss"))).to_be_visible()
        expect(page.get_by_role("region", name="Log")).to_contain_text("trained")
        expect(page.get_by_role("link", name="model.pt")).to_be_visible()
        admin.check("job-curve")
        page.get_by_role("link", name="All metrics").click()
        expect(page.get_by_role("img", name=re.compile("accuracy"))).to_be_visible()


def test_a_shell_in_a_running_task(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(name="entered", nodes=2, command=HOLD)
        wait_until(lambda: job.refresh().state is JobState.RUNNING)
    page = admin.go(f"/jobs/{job.id}")
    page.get_by_role("navigation", name="Job sections").get_by_role("link", name="Terminal").click()
    page.get_by_label("Rank", exact=True).select_option("1")
    page.get_by_role("button", name="Open terminal").click()
    screen = page.get_by_role("log", name="Terminal")
    field = page.get_by_label("Terminal input")
    expect(field).to_be_focused()
    page.keyboard.type("echo i am $((40 + 2)) of $DANLU_RANK; printf '\\033[31mred\\033[0m\\n'")
    page.keyboard.press("Enter")
    expect(screen).to_contain_text("i am 42 of 1")
    expect(screen.locator("[class*=fore1]", has_text="red")).to_be_visible()
    page.keyboard.type("cat")
    page.keyboard.press("Enter")
    page.keyboard.insert_text("中文")
    page.keyboard.press("Enter")
    expect(screen.get_by_text("中文").first).to_be_visible()
    admin.check("terminal")
    page.keyboard.press("Control+c")
    page.keyboard.type("exit 3")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The shell ended with code 3.")).to_be_visible()
    let_all_go(console, job.id)
    expect(page.locator("header .badge").first).to_have_text("Succeeded")
    expect(page.get_by_role("button", name="New terminal")).to_have_count(0)


def test_ranks_over_time_are_a_map_that_leads_to_their_logs(console: RunningServer, admin: Tab) -> None:
    busy = "test $DANLU_RANK = 0 && timeout 4 sh -c 'while :; do :; done'"
    with console.client() as client:
        job = client.jobs.submit(name="lazy", nodes=2, command=f"({busy}); {HOLD}")
        wait_until(lambda: job.refresh().state is JobState.RUNNING)
    page = admin.go(f"/jobs/{job.id}/resources")
    heat = page.get_by_role("region", name="Ranks over time")
    expect(heat.get_by_text(re.compile("Lowest mean: rank 1"))).to_be_visible()
    admin.check("heat-map")
    cells = heat.get_by_role("img")
    box = cells.bounding_box()
    assert box is not None
    cells.hover(position={"x": box["width"] / 2, "y": box["height"] * 0.75})
    expect(heat.get_by_text(re.compile("^Rank 1 · "))).to_be_visible()
    cells.click(position={"x": box["width"] / 2, "y": box["height"] * 0.75})
    expect(page).to_have_url(re.compile("/logs.*rank=1"))
    let_all_go(console, job.id)


def test_attempts_are_whole_and_the_rank_that_failed_first_comes_first(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(
            name="fails", nodes=2, command='test "$DANLU_RANK" = 0 && sleep 3600; exit 3', grace="1s"
        )
        for _ in range(2):
            job.wait()
            job.start()
        job.wait()
    page = admin.go(f"/jobs/{job.id}")
    attempts = page.get_by_role("region", name="Attempts")
    expect(attempts.get_by_role("row")).to_have_count(4)
    assert attempts.evaluate("table => table.scrollWidth <= table.clientWidth + 1")
    assert admin.cut_texts() == []
    admin.check("attempts")
    page.get_by_role("navigation", name="Job sections").get_by_role("link", name="Tasks").click()
    first = page.get_by_role("region", name="Tasks").get_by_role("row").nth(1)
    expect(first).to_contain_text(re.compile(r"^1"))
    page.get_by_role("button", name="Rank").click()
    expect(first).to_contain_text(re.compile(r"^0"))


def test_a_pause_is_undone(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(name="too-large", command="true", nodes=2, resources={"device": "npu:4"})
        page = admin.go(f"/jobs/{job.id}")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("The job is pausing")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("The job is back in the queue")).to_be_visible()
        expect(page.locator("header .badge").first).to_have_text("Queued")
        job.stop()


def let_all_go(console: RunningServer, job_id: str) -> None:
    """Let both ranks pass their HOLD."""
    for rank in (0, 1):
        console.let_go(job_id, rank=rank)
