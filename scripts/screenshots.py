"""The pictures of docs/guide/console.md, taken of a real server with real jobs."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import danlu
from danlu.client import Client
from danlu.testing.serving import RunningServer

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PASSWORD = "correct horse"
TRAIN = """
import math, random, time
from danlu import track
run = track.start("resnet50-cifar10", hparams={"lr": 0.1, "batch_size": 128})
for step in range(100_000):
    loss = 2.3 * math.exp(-step / 400) + 0.05 * random.random()
    print(f"epoch {step // 100} step {step} loss {loss:.4f}", flush=True)
    run.log("train", {"loss": loss}, step=step, epoch=step // 100)
    time.sleep(0.02)
"""


def make_jobs(client: Client) -> str:
    """Jobs in all states. Return the id of one that trains."""
    importable = {"PYTHONPATH": str(Path(danlu.__file__).parents[1])}
    client.jobs.submit(name="mnist-baseline", command="echo done", tags={"team": "vision"})
    bad = "python3 -c 'open(\"/data/train.bin\")'"
    client.jobs.submit(name="imagenet-data-check", command=bad, nodes=2).wait(timeout=60)
    client.jobs.submit(
        name="llama-sft", command="sleep 600", launch="ascend", resources={"device": "npu:8"}, preemptible=True
    )
    client.jobs.submit(name="llama-eval", command="sleep 600", launch="ascend", resources={"device": "npu:4"})
    training = client.jobs.submit(
        name="resnet50-cifar10", command=["python3", "-c", TRAIN], env=importable, tags={"team": "vision"}
    )
    time.sleep(12)
    return training.id


def take(page: Page, url: str, job: str) -> None:
    def shot(name: str, path: str = "", pause: float = 1.2) -> None:
        if path:
            page.goto(f"{url}{path}")
        time.sleep(pause)
        page.screenshot(path=IMAGES / f"console-{name}.png")

    shot("signin", "/signin")
    page.locator("input[name=name]").fill("admin")
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("button[type=submit]").click()
    page.wait_for_url(f"{url}/")
    shot("overview", "/")
    shot("jobs", "/jobs")
    shot("submit", f"/submit?from={job}", pause=2)
    shot("logs", f"/jobs/{job}/logs", pause=2)
    shot("metrics", f"/jobs/{job}/metrics", pause=3)


def main() -> None:
    found = shutil.which("chromium") or sys.exit("Chromium is not installed: scripts/system-packages.sh tests")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server = RunningServer(Path(folder) / "data", "--simulate", "npu:910b:8").start()
        try:
            with server.client() as client, sync_playwright() as playwright:
                client.set_password(PASSWORD)
                job = make_jobs(client)
                browser = playwright.chromium.launch(
                    executable_path=found, args=["--no-sandbox", "--disable-background-networking"]
                )
                take(browser.new_page(viewport={"width": 1280, "height": 800}), server.url, job)
                browser.close()
                left = [one.id for one in client.jobs.list() if one.state.value in ("queued", "running", "starting")]
                client.jobs.stop(left)
                for one in left:
                    client.jobs.get(one).wait(timeout=60)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
