"""Into a running job from its page, in a real browser: a port that opens at a host name of its own, and SSH keys."""

from __future__ import annotations

from playwright.sync_api import expect
from tests.support.browser import Tab
from tests.support.endpoints import start_app

from danlu.testing.serving import RunningServer

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC4eFR0lBdYxIUbvyAONYoZ+ZgnJPPVJoAWUzJmJ6B3N laptop"


def test_a_port_opens_in_a_page_of_its_own(console: RunningServer, admin: Tab) -> None:
    with console.client() as client:
        job = start_app(client, 8080)
        job.endpoints.close(8080)
        page = admin.go(f"/jobs/{job.id}/endpoints")
        page.get_by_role("button", name="Port").click()
        page.get_by_role("textbox", name="Port").fill("0")
        page.get_by_role("button", name="Open a port").click()
        expect(page.locator("[aria-invalid=true]")).to_have_count(1)
        page.get_by_role("textbox", name="Port").fill("8080")
        page.get_by_role("button", name="Open a port").click()
        expect(page.get_by_role("cell", name="8080")).to_be_visible()
        admin.check("job-endpoints")
        with page.expect_popup() as opened:
            page.get_by_role("button", name="Open", exact=True).click()
        popup = opened.value
        popup.wait_for_url(f"http://{job.id}-8080.localhost:*/")
        assert popup.evaluate("window.opener") is None
        # the page's own script can call itself, and neither the console nor its cookies
        assert popup.evaluate("fetch('/a%2Fb').then(answer => answer.json())") == {"path": "/a%2Fb"}
        assert popup.evaluate("document.cookie") == ""
        called = popup.evaluate(
            "url => fetch(url, {credentials: 'include'}).then(() => 'read', () => 'refused')",
            f"{console.url}/api/v1/jobs",
        )
        assert called == "refused"
        popup.close()
        job.stop()


def test_ssh_keys_are_added_and_removed_in_the_profile(admin: Tab) -> None:
    page = admin.go("/profile")
    page.get_by_role("button", name="Add a key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Public key").fill("not a key")
    dialog.get_by_role("button", name="Add a key").click()
    expect(dialog.locator("[aria-invalid=true]")).to_have_count(1)
    dialog.get_by_label("Public key").fill(KEY)
    dialog.get_by_role("button", name="Add a key").click()
    row = page.get_by_role("row", name="laptop")
    expect(row).to_be_visible()
    admin.check("profile-ssh-keys")
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("You have no SSH keys.")).to_be_visible()
