"""TensorBoard of a job that is over, from its page: the metrics of its run, without an event file of its own."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from tests.support.browser import SHOTS, Tab

from danlu.testing.serving import RunningServer

TRAIN = """
from danlu import track
run = track.start(name="own metrics")
for step in range(20):
    run.log({"loss": 1 / (step + 1)}, step=step)
run.finish()
"""


def test_a_button_shows_the_scalars_of_an_ended_job(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit({"name": "trained", "command": ["python3", "-c", TRAIN]}).wait()
        assert job.state == "succeeded", job.reason
        page = admin.go(f"/jobs/{job.id}/endpoints")
        with page.expect_popup() as opened:
            page.get_by_role("button", name="TensorBoard").click()
        board = opened.value
        board.wait_for_url("http://train-*-tensorboard.localhost:*/**")
        see_scalars(board, "train/loss", last="0.05")
        board.close()
        (viewer,) = client.jobs.list(all=False, tags={"tensorboard-of": job.id})
        assert job.view().id == viewer.id, "there is one already"
        assert viewer.details.spec["idle_limit"] == 1800
        viewer.stop()
    admin.check("job-endpoints-over")


def see_scalars(board: Page, name: str, *, last: str) -> None:
    """Wait until a series is drawn with its last value beside it, and keep a picture of it."""
    card = board.locator("scalar-card", has_text=name).first
    expect(card).to_be_visible()
    expect(card.locator("line-chart")).to_be_visible()
    expect(card.get_by_text(last, exact=True)).to_be_visible()
    SHOTS.mkdir(parents=True, exist_ok=True)
    board.screenshot(path=SHOTS / f"tensorboard-{name.replace('/', '-')}.png")
