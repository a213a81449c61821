"""Steps 9 to 15 of the Apulis guide for TensorFlow jobs, clicked through.

Tick SSH, Jupyter and TensorBoard, submit, open the job and its endpoints; its code in JupyterLab, its scalars in
TensorBoard, a shell by SSH, and what it uses.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.support.browser import SHOTS, Tab
from tests.support.console import PASSWORD, running_console
from tests.support.ssh import Ssh
from tests.web.test_tensorboard import see_scalars

from danlu.testing.serving import RunningServer
from danlu.testing.waiting import HANG_SECONDS

pytestmark = pytest.mark.long

TRAIN = """\
import os, time
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter(os.path.expanduser(f"~/tensorboard/{os.environ['DANLU_JOB_ID']}/logs"))
for step in range(20):
    value = Summary.Value(tag="accuracy", simple_value=step / 20)
    writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))
writer.close()
print("trained", flush=True)
"""
COMMAND = "cp -r $DANLU_CODE_DIR /tmp/resnet && cd /tmp/resnet && python3 train.py && sleep infinity"


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[RunningServer]:
    with running_console(tmp_path_factory.mktemp("console") / "data", "--simulate", "npu:910b:2") as running:
        yield running


def test_steps_9_to_15(console: RunningServer, browser: Browser, tmp_path: Path) -> None:
    tab = Tab(browser, console.url)
    page = tab.sign_in("admin", PASSWORD)
    with console.client() as client:
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / "train.py").write_text(TRAIN)
        client.store.make_bucket("examples")
        client.store.upload(tmp_path / "code", "store://examples/resnet/")
        page = tab.go("/submit")
        fill(page)
        for label in ("SSH", "JupyterLab", "TensorBoard"):
            page.get_by_label(label).check()
        tab.check("seed-002-9-form")
        page.get_by_role("button", name="Submit", exact=True).click()
        page.wait_for_url(re.compile("/jobs/train-"))
        job = client.jobs.get(page.url.rpartition("/")[2])
        assert set(job.details.spec["endpoints"]) == {"ssh", "jupyter", "tensorboard"}
        for line in job.logs(follow=True):
            assert "Error" not in line.text, line
            if line.text == "trained":
                break
        expect(page.get_by_text("Running", exact=True).first).to_be_visible()
        tab.check("seed-002-10-running")
        page.get_by_role("link", name="Endpoints").click()
        expect(page.get_by_role("cell", name="jupyter")).to_be_visible()
        tab.check("seed-002-11-endpoints")
        in_jupyter(opened(page, "jupyter"))
        board = opened(page, "tensorboard")
        see_scalars(board, "accuracy", last="0.95")
        board.close()
        by_ssh(page, console, job.id, tmp_path)
        page.get_by_role("link", name="Resources").click()
        expect(page.get_by_text("CPU").first).to_be_visible()
        expect(page.get_by_text(re.compile("^mean .*, max ")).first).to_be_visible()
        tab.check("seed-002-15-resources")
        job.stop()
    tab.close()


def fill(page: Page) -> None:
    page.get_by_label("Name", exact=True).fill("tf115_npu_2p")
    page.get_by_label("Device type").select_option("npu:910b")
    page.get_by_label("Devices per node").fill("2")
    page.get_by_label("Command").fill(COMMAND)
    page.get_by_role("textbox", name="Code").fill("store://examples/resnet/")


def opened(page: Page, endpoint: str) -> Page:
    row = page.get_by_role("row", name=endpoint)
    with page.expect_popup() as popup:
        row.get_by_role("button", name="Open", exact=True).click()
    popup.value.wait_for_url(f"http://train-*-{endpoint}.localhost:*/**", timeout=HANG_SECONDS * 1000)
    return popup.value


def in_jupyter(lab: Page) -> None:
    """The code is there, opens in the editor, and is changed and saved."""
    lab.get_by_role("listitem", name=re.compile("train.py")).dblclick()
    editor = lab.locator(".cm-content").first
    expect(editor).to_contain_text("EventFileWriter")
    editor.click()
    lab.keyboard.press("Control+Home")
    lab.keyboard.type("# seen\n")
    with lab.expect_response(lambda answer: answer.request.method == "PUT" and "train.py" in answer.url) as saved:
        lab.keyboard.press("Control+s")
    assert saved.value.ok
    lab.screenshot(path=SHOTS / "seed-002-12-jupyter.png")
    lab.close()


def by_ssh(page: Page, server: RunningServer, job: str, folder: Path) -> None:
    """With what the page says."""
    if shutil.which("ssh") is None:
        pytest.skip("OpenSSH is not installed; scripts/system-packages.sh tests installs it")
    told = page.get_by_text(re.compile(rf"ssh -p \d+ {job}@")).inner_text()
    ssh = Ssh(folder, server)
    with server.client() as client:
        client.ssh_keys.add(ssh.public_key)
    assert f"Port {told.split()[2]}" in ssh.config.read_text()
    done = ssh.run(job, "head -1 $DANLU_CODE_DIR/train.py; ls -d /tmp/resnet")
    assert done.stdout.split(b"\n")[:2] == [b"# seen", b"/tmp/resnet"], done.stderr
