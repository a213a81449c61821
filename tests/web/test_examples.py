"""Examples, code from a folder of one's own, and roles: from reading to a job that succeeded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect
from tests.support.browser import Tab

from danlu.client import Client
from danlu.testing.serving import RunningServer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Code as people have it: with what does not belong to it."""
    made = tmp_path / "my-training"
    for path, text in {
        "train.py": "import lib.words\nprint(lib.words.HELLO)\n",
        "lib/words.py": "HELLO = 'hello from my folder'\n",
        "run.sh": "#!/bin/sh\nexec python3 train.py\n",
        ".git/config": "[core]\n",
        "__pycache__/train.pyc": "x",
        "data/big.bin": "0" * 100_000,
        ".danluignore": "data/\n",
    }.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    (made / "run.sh").chmod(0o755)
    return made


def submit(page: Page) -> str:
    """Press the button; return the id of the job that it made, once that has succeeded."""
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile("/jobs/train-"))
    expect(page.locator("header .badge").first).to_have_text("Succeeded")
    return page.url.rpartition("/")[2]


def said(client: Client, job: str) -> str:
    return "\n".join(line.text.rstrip("\n") for line in client.jobs.get(job).logs())


def choose(page: Page, folder: Path) -> list[str]:
    """Choose a folder; return the digests of the files that travelled."""
    sent: list[str] = []

    def note(request: Request) -> None:
        if request.method == "PUT" and "/blobs/" in request.url:
            sent.append(request.url.rpartition("/")[2])

    page.on("request", note)
    page.locator("input[type=file][webkitdirectory]").set_input_files(folder)
    expect(page.get_by_text(re.compile("^4 files.*from my-training"))).to_be_visible()
    page.remove_listener("request", note)
    return sent


def test_an_example_is_found_read_used_and_succeeds(console: RunningServer, admin: Tab) -> None:
    page = admin.go("/")
    page.get_by_role("link", name="Examples").first.click()
    expect(page.get_by_role("heading", name="Your first job")).to_be_visible()
    admin.check("examples")
    page.get_by_role("button", name="NPUs").click()
    expect(page.get_by_role("heading", name="Your first job")).to_have_count(0)
    expect(page.get_by_text("Needs 2 × npu:910b:8")).to_be_visible()
    page.get_by_role("button", name="All").click()
    page.get_by_role("link", name="Your first job").click()
    expect(page.get_by_text("Fit a line to noisy points")).to_be_visible()
    admin.check("example")
    page.get_by_role("link", name="job.yml").click()
    expect(page.get_by_role("region", name="job.yml")).to_contain_text("command: python3 -u train.py")
    page.get_by_role("link", name="Use this example").click()
    expect(page.get_by_text("Validation passed. Ready to submit.")).to_be_visible()
    admin.check("example-form")
    with console.client() as client:
        assert "y = 2.99 x -1.00" in said(client, submit(page))


def test_a_folder_travels_by_content_without_what_is_left_out(console: RunningServer, admin: Tab, folder: Path) -> None:
    page = admin.go("/submit")
    page.get_by_label("Name", exact=True).fill("mine")
    page.get_by_label("Command").fill("./run.sh")
    assert len(choose(page, folder)) == 4
    expect(page.get_by_text("3 excluded")).to_be_visible()
    page.locator("summary", has_text="Files").click()
    page.get_by_role("button", name="lib/words.py").click()
    expect(page.get_by_role("dialog").get_by_text("hello from my folder")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    admin.check("submit-folder")
    with console.client() as client:
        assert said(client, submit(page)) == "hello from my folder"
    # the same again: nothing travels, and what changed does
    page = admin.go("/submit")
    assert choose(page, folder) == []
    page.get_by_role("button", name="Remove code").click()
    (folder / "lib/words.py").write_text("HELLO = 'changed'\n")
    assert len(choose(page, folder)) == 1


def test_what_is_no_code_is_told_and_an_upload_is_cancelled(admin: Tab, tmp_path: Path) -> None:
    page = admin.go("/submit")
    empty = tmp_path / "empty" / ".git"
    empty.mkdir(parents=True)
    (empty / "config").write_text("x")
    page.locator("input[type=file][webkitdirectory]").set_input_files(empty.parent)
    expect(page.get_by_text("All files in this folder are excluded")).to_be_visible()
    page.route("**/api/v1/blobs/*", lambda _route: None)  # never answers
    file = tmp_path / "never.py"
    file.write_text("print('never sent')")
    page.locator("input[type=file]:not([webkitdirectory])").set_input_files(file)
    expect(page.get_by_text("Uploading code")).to_be_visible()
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Choose folder")).to_be_visible()
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_enabled()


def test_roles_are_filled_in_and_wrong_ones_told_at_their_fields(console: RunningServer, admin: Tab) -> None:
    page = admin.go("/submit")
    page.get_by_label("Name", exact=True).fill("two-roles")
    page.get_by_role("button", name="Roles").click()
    first, second = (page.get_by_role("group", name=f"Role {number}") for number in (1, 2))
    first.get_by_label("Nodes").fill("x")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(first.locator(".field", has=page.get_by_label("Nodes")).locator(".wrong")).to_be_visible()
    admin.check("submit-roles-wrong")
    first.get_by_label("Nodes").fill("2")
    first.get_by_label("Command").fill("echo worker $DANLU_RANK")
    second.get_by_label("Command").fill("exec sleep 3600")
    expect(page.get_by_text("Validation passed. Ready to submit.")).to_be_visible()
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile("/jobs/train-"))
    # its clone has the roles again
    page = admin.go(f"/submit?from={page.url.rpartition('/')[2]}")
    expect(page.get_by_role("group", name="Role 2").get_by_label("Command")).to_have_value("exec sleep 3600")
    admin.check("submit-roles")
