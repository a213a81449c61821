"""The submit form and a server that goes away: nothing is said that is not true, and nothing typed is lost."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect
from tests.support.browser import Tab
from tests.support.console import PASSWORD

from danlu.testing.serving import RunningServer

IN_VIEW = "element => { const box = element.getBoundingClientRect(); return box.bottom <= innerHeight && box.top >= 0 }"


def test_a_draft_survives_navigation_reload_and_the_end_of_the_session(
    console: RunningServer, open_tab: Callable[..., Tab]
) -> None:
    tab = open_tab()
    tab.sign_in("admin", PASSWORD)
    page = tab.go("/submit")
    page.get_by_label("Name", exact=True).fill("half-typed")
    page.get_by_label("Command", exact=True).fill("python train.py")
    page.get_by_role("link", name="Cluster").click()
    expect(page.get_by_role("heading", name="Cluster")).to_be_visible()
    page.get_by_role("link", name="Submit job").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("half-typed")
    page.reload()
    expect(page.get_by_label("Command", exact=True)).to_have_value("python train.py")
    tab.context.clear_cookies()
    page.reload()
    page.locator("input[name=name]").fill("admin")
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("button[type=submit]").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("half-typed")
    expect(page.get_by_text("Your unsent draft was restored.")).to_be_visible()
    tab.check("draft")
    page.get_by_role("button", name="Discard draft").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("")
    page.get_by_label("Name", exact=True).fill("of-the-admin")
    page.get_by_role("button", name="admin").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("Object.keys(sessionStorage).filter(key => key.includes('draft'))") == []


def test_errors_are_beside_the_button_and_lead_to_their_field(admin: Tab) -> None:
    page = admin.go("/submit")
    page.get_by_label("Name", exact=True).fill("wrong")
    page.get_by_label("Command", exact=True).fill("true")
    page.get_by_label("Device type").select_option("npu:910b")
    page.get_by_label("Devices per node").fill("1000000")
    problem = page.get_by_role("alert").get_by_role("button", name="Devices per node")
    expect(problem).to_be_visible()
    assert problem.evaluate(IN_VIEW)
    assert page.get_by_role("button", name="Submit", exact=True).evaluate(IN_VIEW)
    page.get_by_role("heading", name="Submit job").scroll_into_view_if_needed()
    problem.click()
    expect(page.get_by_label("Devices per node")).to_be_focused()


def test_a_server_that_is_away_accepts_nothing_and_costs_no_page(console: RunningServer, admin: Tab) -> None:
    page = admin.go("/submit")
    page.get_by_label("Name", exact=True).fill("true")
    page.get_by_label("Command", exact=True).fill("true")
    expect(page.get_by_text("Validation passed. Ready to submit.")).to_be_visible()
    console.stop()
    expect(page.get_by_role("status").filter(has_text="The server does not answer")).to_be_visible()
    expect(page.get_by_text("Validation passed. Ready to submit.")).to_have_count(0)
    page.get_by_role("link", name="Cluster").click()  # a page that this browser has not loaded yet
    expect(page.get_by_role("alert").filter(has_text="The server does not answer").first).to_be_visible()
    console.start()
    expect(page.get_by_role("heading", name="Cluster")).to_be_visible()
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
