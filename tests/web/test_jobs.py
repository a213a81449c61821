"""The journeys of people who run jobs, clicked through in a real browser against a real server."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from tests.support.browser import Tab
from tests.support.console import PASSWORD
from tests.web.conftest import new_link

from danlu.spec.states import JobState
from danlu.testing.gates import HOLD
from danlu.testing.serving import RunningServer
from danlu.testing.waiting import wait_until


def fill_form(page: Page, *, name: str, command: str) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Command").fill(command)


class TestComingIn:
    def test_a_link_signs_in_once_and_leads_to_the_page_that_was_asked_for(
        self, console: RunningServer, open_tab: Callable[..., Tab]
    ) -> None:
        tab = open_tab()
        page = tab.go("/jobs")
        expect(page).to_have_url(re.compile("/signin"))
        tab.check("signin")
        page = tab.go(new_link(console))
        tab.check("signin-link")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        page.get_by_role("button", name="admin").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        tab.go("/jobs")
        expect(page).to_have_url(re.compile("/signin"))

    def test_who_registers_waits_until_an_admin_lets_them_in(
        self, console: RunningServer, open_tab: Callable[..., Tab]
    ) -> None:
        tab = open_tab()
        page = tab.go("/register")
        page.get_by_label("User name").fill("ada!")
        page.get_by_label("Password").fill("short")
        page.get_by_role("button", name="Register").click()
        expect(page.locator("[aria-invalid=true]")).to_have_count(2)
        tab.check("register-wrong")
        page.get_by_label("User name").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_label("Note to the admin").fill("vision team")
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("heading", name="Waiting for approval")).to_be_visible()
        tab.check("waiting")
        page.get_by_role("link", name="Sign in").click()
        page.get_by_label("User name").fill("ada")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("an admin has not approved your account yet")).to_be_visible()
        with console.client() as client:
            client.people.approve("ada", project="default")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        expect(page.get_by_text("No active jobs")).to_be_visible()
        tab.check("overview-empty")


class TestSubmitting:
    def test_a_wrong_form_is_told_at_its_fields_and_a_right_one_becomes_a_job(
        self, console: RunningServer, admin: Tab
    ) -> None:
        page = admin.go("/submit")
        page.get_by_role("button", name="Submit", exact=True).click()
        expect(page.get_by_text("invalid fields")).to_be_visible()
        fill_form(page, name="tf115_npu_2p", command=f"seq -f 'step %g' 1 3; {HOLD}; seq -f 'step %g' 4 8")
        page.get_by_label("Device type").select_option("npu:910b")
        page.get_by_label("Devices per node").fill("3")
        wrong = page.locator(".field", has=page.get_by_label("Devices per node")).locator(".wrong")
        expect(wrong).to_contain_text("3")
        admin.check("submit-wrong")
        page.get_by_label("Devices per node").fill("2")
        expect(page.get_by_text("Validation passed. Ready to submit.")).to_be_visible()
        expect(page.get_by_text("RANK_TABLE_FILE")).to_be_visible()
        admin.check("submit")
        page.get_by_role("button", name="Submit", exact=True).click()
        expect(page.get_by_role("heading", name="tf115_npu_2p")).to_be_visible()
        page.get_by_role("link", name="Logs", exact=True).click()
        expect(page.get_by_text("step 3", exact=True)).to_be_visible()
        admin.check("logs-live")
        console.let_go(page.url.rstrip("/").split("/")[-2])
        expect(page.get_by_text("step 8", exact=True)).to_be_visible()
        expect(page.locator("header .badge").first).to_have_text("Succeeded")
        for tab in ("Overview", "Metrics", "Tasks", "Spec", "Events"):
            page.get_by_role("navigation", name="Job sections").get_by_role("link", name=tab).click()
            expect(page.locator("main .panel, main table").first).to_be_visible()
            admin.check(f"job-{tab.lower()}")
        page.get_by_role("link", name="Clone").click()
        expect(page.get_by_label("Name", exact=True)).to_have_value("tf115_npu_2p")
        expect(page.get_by_label("Devices per node")).to_have_value("2")

    def test_a_form_is_kept_as_a_template_and_others_begin_with_it(
        self, console: RunningServer, admin: Tab, open_tab: Callable[..., Tab]
    ) -> None:
        page = admin.go("/submit")
        fill_form(page, name="kept", command="echo kept")
        page.get_by_role("button", name="Save as template").click()
        page.get_by_label("Template name").fill("<b>two</b> NPUs")
        page.get_by_label("Share with all members of default").check()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("was saved")).to_be_visible()
        with console.client() as client:
            link = client.people.invite("tom", project="default").url
        colleague = open_tab().go(re.sub(r"^https?://[^/]+", "", link))
        colleague.get_by_role("button", name="Sign in").click()
        expect(colleague.get_by_role("heading", name="Overview")).to_be_visible()
        colleague.goto(f"{console.url}/submit")
        colleague.get_by_role("button", name="Saved templates").click()
        expect(colleague.get_by_role("button", name="Delete template")).to_have_count(0)
        colleague.get_by_role("button", name="<b>two</b> NPUs by admin, in default").click()
        expect(colleague.get_by_label("Name", exact=True)).to_have_value("kept")
        page.get_by_role("button", name="Saved templates").click()
        admin.check("submit-templates")
        page.get_by_role("button", name="Delete template <b>two</b> NPUs").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_role("button", name="Saved templates")).to_have_count(0)

    def test_the_results_of_a_job_become_a_model(self, console: RunningServer, admin: Tab) -> None:
        with console.client() as client:
            job = client.jobs.submit(name="makes-weights", command='echo weights > "$DANLU_OUTPUT_DIR/model.bin"')
            assert job.wait().state.value == "succeeded", [line.text for line in job.logs()]
        page = admin.go(f"/jobs/{job.id}")
        page.get_by_role("button", name="Register model").click()
        expect(page.locator("dialog input[name=of]")).to_have_value(job.id)
        admin.check("register")
        page.locator("dialog button[type=submit]").click()
        expect(page.get_by_role("heading", name="makes-weights")).to_be_visible()
        page.get_by_role("button", name="makes-weights:1").click()
        page.get_by_role("button", name="Set alias").click()
        page.get_by_role("textbox", name="Alias").fill("best")
        page.locator("dialog button[type=submit]").click()
        page.get_by_role("button", name="makes-weights:1").click()
        page.get_by_role("button", name="Remove alias best").click()
        expect(page.locator("h1 ~ .badge")).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("h1 ~ .badge")).to_have_text("best → v1")
        page.get_by_role("link", name="v1", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download model.bin").click()
        assert download.value.path().read_text() == "weights\n"
        admin.check("model-files")
        page = admin.go(f"/jobs/{job.id}/flow")
        expect(page.locator(".flow-card").filter(has_text="makes-weights:1")).to_be_visible()
        zoom = page.locator(".react-flow__viewport").evaluate("e => new DOMMatrix(getComputedStyle(e).transform).a")
        assert zoom * 13 >= 11, "the graph is too small to be read"
        admin.check("job-flow")


class TestFailing:
    def test_the_page_says_why_and_shows_the_line(self, console: RunningServer, admin: Tab) -> None:
        command = (
            "seq 1 3000; echo '<img src=x onerror=alert(1)><b>bold</b>'; "
            "python3 -c 'open(\"/data/train.bin\")'; seq 1 3000; exit 3"
        )
        with console.client() as client:
            job = client.jobs.submit(name="bad-data", command=command, tags={"html": "<b>x</b>"})
            assert job.wait().state is JobState.FAILED
        page = admin.go(f"/jobs/{job.id}")
        expect(page.get_by_text("The command ended with code 3", exact=False).first).to_be_visible()
        expect(page.get_by_text("Suggested action")).to_be_visible()
        admin.check("job-failed")
        page.get_by_role("link", name="Open log").click()
        page.get_by_role("button", name="First error").click()
        expect(page.get_by_text("Traceback (most recent call last):")).to_be_visible()
        # what a job prints is text, and stays text
        expect(page.get_by_text("<img src=x onerror=alert(1)><b>bold</b>")).to_be_visible()
        page.get_by_label("Search the log").fill("2999")
        page.get_by_role("button", name="Find").click()
        expect(page.get_by_text("2 matching lines")).to_be_visible()
        admin.check("logs-search")
        assert "q=2999" in page.url
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        assert download.value.path().read_text().startswith("1\n2\n3\n")


class TestTheTable:
    def test_it_follows_what_happens_and_stops_many(self, console: RunningServer, admin: Tab) -> None:
        page = admin.go("/jobs")
        expect(page.get_by_text("Live")).to_be_visible()
        with console.client() as client:
            jobs = [client.jobs.submit(name=f"sleeper-{number}", command="sleep 3600") for number in range(3)]
        for job in jobs:
            row = page.get_by_role("row", name=re.compile(job.name))
            expect(row.get_by_text("Running", exact=True)).to_be_visible()
        page.get_by_label("Find by name, id, owner or tag").fill("sleeper")
        expect(page.get_by_text(re.compile(r"^3 of \d+ jobs$"))).to_be_visible()
        assert "q=sleeper" in page.url
        page.get_by_label("States").select_option("open")
        page.get_by_label("Select all").check()
        page.get_by_role("button", name="Stop").click()
        admin.check("jobs-stop")
        page.get_by_role("dialog").get_by_role("button", name="Stop").click()
        expect(page.get_by_text("No matching jobs")).to_be_visible()
        page.get_by_role("button", name="Clear filters").click()
        row = page.get_by_role("row", name=re.compile("sleeper-1"))
        expect(row.get_by_text("Stopped", exact=True)).to_be_visible()
        admin.check("jobs")
        page.get_by_role("button", name="Duration").click()
        assert "sort=duration" in page.url
        page.reload()
        expect(page.locator("th[aria-sort=ascending]")).to_have_text("Duration")

    def test_a_star_makes_a_favourite(self, console: RunningServer, admin: Tab) -> None:
        with console.client() as client:
            liked = client.jobs.submit(name="liked", command="true").wait()
            client.jobs.submit(name="not-so-much", command="true").wait()
        page = admin.go("/jobs")
        page.get_by_role("button", name="Add liked to favourites").click()
        expect(page.get_by_role("button", name="Remove liked from favourites")).to_be_visible()
        page.get_by_role("button", name="Favourites", exact=True).click()
        expect(page.get_by_role("row")).to_have_count(2)
        assert "favourites=true" in page.url
        admin.check("jobs-favourites")
        with console.client() as client:
            assert list(client.jobs.list(favourites=True)) == [liked]
        page.get_by_role("link", name="liked").click()
        page.get_by_role("button", name="Remove liked from favourites").click()
        expect(page.get_by_role("button", name="Add liked to favourites")).to_be_visible()
        admin.check("job-star")
        with console.client() as client:
            assert list(client.jobs.list(favourites=True)) == []

    def test_it_goes_on_after_the_server_was_away(self, console: RunningServer, admin: Tab) -> None:
        page = admin.go("/jobs")
        expect(page.get_by_text("Live")).to_be_visible()
        console.stop()
        expect(page.get_by_text("Reconnecting")).to_be_visible()
        console.start()
        expect(page.get_by_text("Live")).to_be_visible()
        with console.client() as client:
            client.jobs.submit(name="afterwards", command="true")
        expect(page.get_by_text("afterwards")).to_be_visible()
        admin.errors = [
            error for error in admin.errors if "ERR_CONNECTION" not in error and "ERR_INCOMPLETE" not in error
        ]
        admin.check("jobs-again")


class TestMakingRoom:
    def test_a_preempted_job_says_for_whom_and_runs_again(self, console: RunningServer, admin: Tab) -> None:
        with console.client() as client:
            patient = client.jobs.submit(
                name="patient", command="sleep 3600", preemptible=True, grace="1s", resources={"device": "npu:4"}
            )
            wait_until(lambda: patient.refresh().state is JobState.RUNNING)
            page = admin.go(f"/jobs/{patient.id}/events")
            urgent = client.jobs.submit(name="urgent", command=HOLD, resources={"device": "npu:4"})
            expect(page.get_by_text(f"resources for {urgent.id}", exact=False).first).to_be_visible()
            page.get_by_role("link", name="Overview", exact=True).last.click()
            expect(page.locator("header .badge").first).to_have_text("Queued")
            expect(page.get_by_text("Suggestions")).to_be_visible()
            admin.check("job-preempted")
            console.let_go(urgent.id)
            expect(page.locator("header .badge").first).to_have_text("Running")
            expect(page.get_by_text("Attempt").first).to_be_visible()
            page.get_by_role("button", name="Stop").click()
            page.get_by_role("dialog").get_by_role("button", name="Stop").click()
            expect(page.locator("header .badge").first).to_have_text("Stopped")


class TestTheAccount:
    def test_a_key_is_shown_once_and_works(self, console: RunningServer, admin: Tab) -> None:
        page = admin.go("/profile")
        page.get_by_role("button", name="Create key").click()
        page.get_by_label("Purpose").fill("laptop")
        page.get_by_role("dialog").get_by_role("button", name="Create key").click()
        expect(page.get_by_role("heading", name="Your new API key")).to_be_visible()
        admin.check("profile-key")
        page.get_by_role("button", name="Close").click()
        row = page.get_by_role("row", name=re.compile("laptop"))
        expect(row).to_be_visible()
        row.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(row).to_have_count(0)
        page.get_by_role("group", name="Language").get_by_role("button", name="简体中文").click()
        expect(page.get_by_role("heading", name="个人资料")).to_be_visible()
        page.get_by_role("button", name="深色").click()
        admin.check("profile")
        page.reload()
        expect(page.get_by_role("heading", name="个人资料")).to_be_visible()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"

    def test_pages_that_are_not_there_say_so(self, admin: Tab) -> None:
        page = admin.go("/no/such/page")
        expect(page.get_by_text("Page not found")).to_be_visible()
        page = admin.go("/jobs/train-000000000000000001")
        expect(page.get_by_text("Page not found")).to_be_visible()
        admin.check("not-found")
