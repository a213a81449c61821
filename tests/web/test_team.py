"""What a team does in a browser: files into the store, people let in, quotas, the queue, and who did what."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect
from tests.support.browser import Tab
from tests.support.console import PASSWORD

from danlu.testing.serving import RunningServer


class TestStore:
    def test_files_go_up_are_looked_at_and_go(self, console: RunningServer, admin: Tab, tmp_path: Path) -> None:
        (tmp_path / "notes.json").write_text('{"note": "<script>alert(1)</script>"}')
        (tmp_path / "weights.bin").write_bytes(bytes(range(256)) * 4000)
        page = admin.go("/store")
        page.get_by_role("button", name="Create bucket").click()
        page.get_by_label("Name").fill("Data!")
        page.locator("dialog button[type=submit]").click()
        expect(page.locator("dialog .wrong, dialog .notice")).to_be_visible()
        page.get_by_label("Name").fill("team-data")
        page.locator("dialog button[type=submit]").click()
        expect(page.get_by_role("heading", name="team-data")).to_be_visible()
        expect(page.get_by_text("This folder is empty")).to_be_visible()
        admin.check("store-empty")
        page.locator("input[type=file]").first.set_input_files([tmp_path / "notes.json", tmp_path / "weights.bin"])
        expect(page.get_by_text("2 files uploaded")).to_be_visible()
        with console.client() as client:
            assert client.store.size("store://team-data/weights.bin") == 256 * 4000
        page.get_by_role("link", name="notes.json").click()
        expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()
        admin.check("store-preview")
        page.get_by_role("button", name="Close").last.click()
        page.get_by_role("checkbox", name="Select weights.bin").check()
        page.get_by_role("button", name="Delete").click()
        page.locator("dialog button[type=submit]").click()
        expect(page.get_by_text("1 file deleted")).to_be_visible()
        expect(page.get_by_role("link", name="weights.bin")).to_have_count(0)
        admin.check("store")

    def test_files_go_to_the_folder_that_jobs_share(self, console: RunningServer, admin: Tab, tmp_path: Path) -> None:
        (tmp_path / "Resnet50_HC").mkdir()
        (tmp_path / "Resnet50_HC" / "run.sh").write_text("#!/bin/sh\necho it runs\n")
        (tmp_path / "notes.txt").write_text("a note\n")
        with console.client() as client:
            client.store.upload(tmp_path / "Resnet50_HC", "main/guide/Resnet50_HC/")
            client.store.upload(tmp_path / "notes.txt", "main/guide/")
            page = admin.go("/store?bucket=main&path=guide/")
            for name in ("guide/Resnet50_HC/", "guide/notes.txt"):
                page.get_by_role("checkbox", name=f"Select {name}").check()
            page.get_by_role("button", name="Copy to /data").click()
            page.get_by_label("Folder", exact=True).fill("/etc/")
            page.locator("dialog button[type=submit]").click()
            expect(page.get_by_text("expected a folder in /data/, got '/etc/'")).to_be_visible()
            page.get_by_label("Folder", exact=True).fill("/data/from-the-console")
            page.locator("dialog button[type=submit]").click()
            page.wait_for_url(re.compile(r"/jobs/train-"))
            copied = client.jobs.get(page.url.rpartition("/")[2]).wait()
            assert copied.state == "succeeded", [str(line) for line in copied.logs()]
            looks = "cd /data/from-the-console && cat notes.txt && ./Resnet50_HC/run.sh"
            look = client.jobs.submit(name="look", contract="apulis", command=looks).wait()
            assert [str(line) for line in look.logs()] == ["a note", "it runs"]


class TestPeople:
    def test_an_admin_lets_somebody_in_who_then_sees_what_is_theirs(
        self, console: RunningServer, admin: Tab, open_tab: Callable[..., Tab]
    ) -> None:
        with console.client() as client:
            client.people.register("grace", PASSWORD, note="compilers, <i>mostly</i>")
        page = admin.go("/admin")
        expect(page.get_by_text("compilers, <i>mostly</i>")).to_be_visible()
        admin.check("admin-waiting")
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_label("Project").last).to_have_value("default")  # who is in none can do nothing
        page.locator("dialog button[type=submit]").click()
        expect(page.get_by_text("grace can sign in now")).to_be_visible()
        expect(page.get_by_text("No pending registrations.")).to_be_visible()
        grace = open_tab()
        grace.sign_in("grace", PASSWORD)
        expect(grace.page.get_by_role("link", name="Admin")).to_have_count(0)
        grace.go("/admin")
        expect(grace.page.get_by_role("alert")).to_be_visible()
        page.get_by_role("link", name="Audit").click()
        expect(page.get_by_role("cell", name="Registration approved").first).to_be_visible()
        page.get_by_label("Action", exact=True).select_option("registration.approve")
        expect(page.get_by_role("row")).to_have_count(2)
        admin.check("audit")

    def test_many_are_let_in_at_once_and_a_badge_says_how_many_wait(
        self, console: RunningServer, admin: Tab, open_tab: Callable[..., Tab]
    ) -> None:
        with console.client() as client:
            for name in ("kay", "lin", "max"):
                client.people.register(name, PASSWORD)
        page = admin.go("/")
        page.get_by_role("link", name=re.compile("^Admin.*3 pending registrations")).click()
        page.get_by_label("Select all").check()
        page.get_by_role("checkbox", name="Select max").uncheck()
        page.get_by_role("button", name="Approve 2").click()
        expect(page.get_by_role("dialog")).to_contain_text("kay, lin")
        admin.check("admin-many")
        page.locator("dialog button[type=submit]").click()
        expect(page.get_by_text("2 users can sign in now")).to_be_visible()
        expect(page.get_by_role("link", name=re.compile("^Admin.*1 pending registration$"))).to_be_visible()
        with console.client() as client:
            client.people.reject("max")
        lin = open_tab(locale="zh-CN")
        lin.sign_in("lin", PASSWORD)
        steps = lin.page.get_by_role("region", name="快速开始")
        expect(steps.get_by_role("listitem").filter(has_text="已完成")).to_contain_text("default")
        lin.check("first-steps")
        steps.get_by_role("link", name="查看示例").click()
        expect(lin.page.get_by_role("heading", name="示例")).to_be_visible()

    def test_a_project_gets_members_and_quotas(self, admin: Tab) -> None:
        page = admin.go("/projects")
        page.get_by_role("button", name="Create project").click()
        page.locator("dialog input[name=name]").fill("vision")
        page.locator("dialog button[type=submit]").click()
        expect(page.get_by_role("heading", name="vision")).to_be_visible()
        expect(page.get_by_role("link", name="vision", exact=True)).to_be_visible()  # a bucket for its jobs
        admin.check("project")
        page.get_by_role("link", name="Quotas").click()
        page.get_by_role("button", name="Set quotas").click()
        page.get_by_label("npu").fill("eight")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("'eight' is no amount")).to_be_visible()
        page.get_by_label("npu").fill("8")
        page.get_by_label("memory").fill("512GB")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("row", name="npu")).to_contain_text("8")
        expect(page.get_by_role("row", name="memory")).to_contain_text("512 GB")
        admin.check("quotas")
        page.get_by_role("button", name="Set quotas").click()
        page.get_by_label("npu").fill("")
        expect(page.get_by_text("These limits will be removed: npu.")).to_be_visible()
        admin.check("quotas-lifted")
        page.get_by_label("npu").fill("4")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("row", name="memory")).to_contain_text("512 GB")


class TestCluster:
    def test_who_has_what_and_who_waits(self, console: RunningServer, admin: Tab) -> None:
        with console.client() as client:
            holder = client.jobs.submit(name="holder", command="sleep 3600", resources={"device": "npu:4"})
            waiter = client.jobs.submit(name="waiter", command="sleep 3600", resources={"device": "npu:2"})
            page = admin.go("/cluster")
            expect(page.get_by_role("link", name=f"npu:910b 0, used by {holder.id}")).to_be_visible()
            queue = page.get_by_role("region", name="Queue")
            expect(queue.get_by_role("link", name="waiter")).to_be_visible()
            admin.check("cluster")
            client.quotas.set("default", {"npu": 12})
            page = admin.go("/projects/default?tab=quotas")
            expect(page.get_by_role("row", name=re.compile("^npu 4 12 8"))).to_be_visible()
            client.quotas.set("default", {})
            page = admin.go("/cluster")
            node = next(iter(client.nodes())).name
            page.get_by_role("button", name="Drain").click()
            page.get_by_label("Reason").fill("broken fan")
            page.get_by_role("dialog").get_by_role("button", name="Drain").click()
            card = page.get_by_role("region", name=node)
            expect(card.locator(".badge.wait")).to_have_text("Draining")
            expect(card).to_contain_text("Drained by admin")
            expect(card).to_contain_text("1 task is still running.")
            expect(queue).to_contain_text(f"node {node} is drained: broken fan")
            admin.check("drained")
            page.get_by_role("button", name="Resume scheduling").click()
            expect(page.get_by_role("button", name="Drain")).to_be_visible()
            page = admin.go(f"/jobs/{holder.id}/resources")
            expect(page.get_by_role("img", name="CPU (cores)")).to_be_visible()
            expect(page.get_by_role("region", name="Memory (GiB)")).to_contain_text("mean")
            admin.check("resources")
            for job in (waiter, holder):
                job.stop()
            holder.wait()
            page = admin.go("/cluster")
            timeline = page.get_by_role("region", name="Timeline").first
            expect(timeline.get_by_role("link", name=re.compile("^holder · admin · default: "))).to_have_count(4)
            expect(timeline.get_by_role("row", name=re.compile("^admin default"))).to_be_visible()
            expect(
                timeline.get_by_role("img", name=re.compile(r"^Devices in use: mean .*, peak .* of 4$"))
            ).to_be_visible()
            admin.check("timeline")
            timeline.get_by_role("link", name=re.compile("^holder · ")).first.click()
            expect(page).to_have_url(re.compile(holder.id))


class TestPrices:
    def test_from_the_price_list_to_the_cost_of_a_job(self, console: RunningServer, admin: Tab) -> None:
        page = admin.go("/submit")
        expect(page.get_by_label("Container image")).to_be_visible()
        expect(page.get_by_role("group", name="Machine")).to_have_count(0)
        set_prices(admin)
        page = admin.go("/submit")
        page.get_by_label("Name", exact=True).fill("priced")
        page.get_by_label("Command").fill("test $WHO = framework && sleep 1")
        page.get_by_label("Environment", exact=True).select_option("PyTorch 2.13")
        page.get_by_role("radio", name="npu-910b-2").check()
        page.get_by_role("button", name="Distributed").click()
        page.get_by_label("Launch").select_option("plain")
        expect(page.get_by_text("¥7,201.00/h for all nodes")).to_have_count(2)
        admin.check("submit-flavor")
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_text("npu-910b-2 ¥7,201.00/h for all nodes")).to_be_visible()
        cost = page.locator("dt", has_text="Cost").locator("xpath=following-sibling::dd")
        expect(cost).to_contain_text(re.compile(r"¥[1-9].*/h"))
        expect(page.locator("main").get_by_text("Succeeded", exact=True).first).to_be_visible()
        admin.check("job-cost")
        see_costs(admin)
        with console.client() as client:
            job = client.jobs.get("priced").details
            assert (job.spec["flavor"], str(job.price_per_hour), job.currency) == ("npu-910b-2", "7201.00", "CNY")
            for flavor in list(client.flavors.list()):
                client.flavors.remove(flavor.name)
            client.frameworks.remove("torch-2.13")
        page = admin.go(f"/submit?from={job.id}")
        expect(page.locator(".wrong", has_text="npu-910b-2 is no longer available")).to_be_visible()


def see_costs(admin: Tab) -> None:
    """What the job cost is in the row of its project and user, and not in days before it."""
    page = admin.go("/admin?tab=costs")
    row = page.get_by_role("row", name=re.compile("default"))
    expect(row).to_contain_text(re.compile(r"admin.*¥[1-9]"))
    admin.check("costs")
    page.get_by_label("Group by").select_option("user")
    expect(page.get_by_role("columnheader", name="Project")).to_have_count(0)
    assert "by=user" in page.url
    page.get_by_label("Until").fill("2020-01-01")
    expect(page.get_by_text("No priced jobs ran in this period.")).to_be_visible()


def set_prices(admin: Tab) -> None:
    """An admin begins with what fits the nodes, gives it a price, and adds a framework."""
    page = admin.go("/admin?tab=flavors")
    expect(page.get_by_role("heading", name="No flavors yet")).to_be_visible()
    page.get_by_role("button", name="that fit the nodes").click()
    row = page.get_by_role("row", name="npu-910b-2")
    expect(row).to_contain_text("2 of 2")
    row.get_by_role("button", name="Actions for npu-910b-2").click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Price per hour").fill("18,4")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("got '18,4'")).to_be_visible()
    page.get_by_label("Price per hour").fill("3600.5")
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("¥3,600.50/h")
    page.get_by_role("button", name="Actions for npu-910b-1").click()
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_role("row", name="npu-910b-1")).to_contain_text("Disabled")
    page.get_by_role("button", name="Actions for npu-910b-4").click()
    page.get_by_role("button", name="Remove").click()
    page.locator("dialog button[type=submit]").click()
    expect(page.get_by_role("row", name="npu-910b-4")).to_have_count(0)
    page.get_by_role("link", name="Frameworks").click()
    page.get_by_role("button", name="Add a framework").click()
    page.locator("dialog input[name=name]").fill("torch-2.13")
    page.locator("dialog input[name=title]").fill("PyTorch 2.13")
    page.locator("dialog textarea[name=env]").fill("WHO=framework")
    page.get_by_label("plain").check()
    admin.check("framework-new")
    page.locator("dialog button[type=submit]").click()
    expect(page.get_by_role("row", name="torch-2.13")).to_contain_text("the node's own Python")
