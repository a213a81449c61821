"""Going anywhere by name, and what a job's first page shows."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.support.browser import Tab

from danlu.testing.gates import HOLD
from danlu.testing.serving import RunningServer


def test_a_job_is_found_by_name_and_its_page_has_the_log_and_the_results(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(
            name="needle-in-a-haystack",
            command=f'echo hello from the tail; {HOLD}; echo x > "$DANLU_OUTPUT_DIR/model.pt"',
        )
    page = admin.go("/cluster")
    expect(page.get_by_role("heading", name="Cluster")).to_be_visible()
    page.keyboard.press("Control+k")
    field = page.get_by_role("searchbox", name="Page, job, run, model, bucket or action")
    field.fill("haystack")
    expect(page.get_by_role("dialog").get_by_text("needle-in-a-haystack")).to_be_visible()
    admin.check("palette")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(job.id))
    expect(page.get_by_role("region", name="Log")).to_contain_text("hello from the tail")
    admin.check("job-landing")
    console.let_go(job.id)
    expect(page.locator("header .badge").first).to_have_text("Succeeded")
    page.reload()
    expect(page.get_by_role("link", name="model.pt")).to_be_visible()
    page.keyboard.press("/")
    field.fill("experim")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Experiments")).to_be_visible()


def test_projects_examples_and_actions_are_found_too(admin: Tab) -> None:
    page = admin.go("/cluster")
    expect(page.get_by_role("heading", name="Cluster")).to_be_visible()
    field = page.get_by_role("searchbox", name="Page, job, run, model, bucket or action")
    page.keyboard.press("?")
    field.fill("project default")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/projects/default"))
    expect(page.get_by_role("navigation", name="Breadcrumbs").get_by_role("link")).to_have_text("Projects")
    page.keyboard.press("Control+k")
    field.fill("appearance: dark")
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("Control+k")
    field.fill("中文")
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="当前位置")).to_be_visible()
    admin.check("palette-actions")
