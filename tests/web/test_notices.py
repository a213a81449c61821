"""What people are told, in a real browser: the bell, alerts on the job's page, webhooks in the profile."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.support.browser import Tab

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


def test_the_bell_tells_of_the_end_of_a_job_and_of_alerts(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = client.jobs.submit(name="short", command="true")
        job.wait()
        wait_until(client.notices.num_unread)
        page = admin.go("/")
        page.get_by_role("button", name="Notices").click()
        entry = page.get_by_role("link", name="short").filter(has_text="Job succeeded")
        expect(entry).to_be_visible()
        admin.check("notices")
        entry.click()
        page.wait_for_url(f"**/jobs/{job.id}*")
        wait_until(lambda: client.notices.num_unread() == 0)


TOLD = """
window.told = [];
window.Notification = class {
  static permission = 'default';
  static async requestPermission() { return (this.permission = 'granted'); }
  constructor(title, options) { window.told.push(`${title}: ${options.body}`); }
};
"""
"""The browser's own notifications, which a browser without a screen does not show."""


def test_the_browser_tells_of_what_happens_when_it_may(console: RunningServer, admin: Tab) -> None:
    admin.context.add_init_script(TOLD)
    admin.page.clock.install()
    page = admin.go("/")
    page.get_by_role("button", name="Notices").click()
    page.get_by_role("button", name="Show as browser notifications").click()
    with console.client() as client:
        before = client.notices.num_unread()
        client.jobs.submit(name="told-by-the-browser", command="exit 3").wait()
        wait_until(lambda: client.notices.num_unread() > before)
    page.clock.fast_forward("00:31")
    wait_until(lambda: page.evaluate("window.told.length > 0"))
    assert page.evaluate("window.told") == ["told-by-the-browser: Job failed"]
    page.reload()
    page.get_by_role("button", name="Notices").click()
    assert page.evaluate("window.told") == []


def test_webhooks_are_added_tried_out_and_removed(admin: Tab) -> None:
    page = admin.go("/profile")
    page.get_by_role("button", name="Add webhook").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Address").fill("ftp://example.com")
    dialog.get_by_role("button", name="Add webhook").click()
    expect(dialog.locator("[aria-invalid=true]")).to_have_count(1)
    dialog.get_by_label("Address").fill("https://127.0.0.1/hook")
    dialog.get_by_role("button", name="Add webhook").click()
    expect(dialog.get_by_text("whsec_")).to_be_visible()
    dialog.get_by_role("button", name="Close").last.click()
    row = page.get_by_role("row", name="https://127.0.0.1/hook")
    row.get_by_role("button", name="Deliveries").click()
    dialog.get_by_role("button", name="Send test event").click()
    expect(dialog.get_by_text("which is not a public address")).to_be_visible()
    admin.check("profile-webhooks")
    dialog.get_by_role("button", name="Close").last.click()
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("You have no webhooks.")).to_be_visible()
