"""The pictures of the guide, taken of a real server with a small team at work: `make screenshots`.

Each is a page at 1280 pixels, one and a half times as sharp, kept as WebP: 20 to 90 KB.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from screenshot_scene import PASSWORD, Scene, set_up

from danlu.spec.states import is_over
from danlu.testing.serving import RunningServer

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 200 << 10


class Camera:
    """Somebody's browser."""

    def __init__(self, browser: Browser, url: str, *, theme: str = "light", language: str = "en-US") -> None:
        self.url = url
        self.page: Page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            device_scale_factor=1.5,
            color_scheme="dark" if theme == "dark" else "light",
            locale=language,
            reduced_motion="reduce",
        )

    def sign_in(self, name: str) -> None:
        self.page.goto(f"{self.url}/signin")
        self.page.locator("input[name=name]").fill(name)
        self.page.locator("input[name=password]").fill(PASSWORD)
        self.page.locator("button[type=submit]").click()
        self.page.wait_for_url(f"{self.url}/")

    def go(self, path: str) -> Page:
        self.page.goto(f"{self.url}{path}")
        self.page.wait_for_selector("h1")
        return self.page

    def shoot(self, name: str, path: str = "", *, seconds: float = 1.5, height: int = HEIGHT) -> None:
        self.page.set_viewport_size({"width": WIDTH, "height": height})
        if path:
            self.go(path)
        self.page.mouse.move(WIDTH - 2, height - 2)
        self.page.wait_for_timeout(seconds * 1000)
        with Image.open(io.BytesIO(self.page.screenshot())) as image:
            made = io.BytesIO()
            image.convert("RGB").save(made, "WEBP", quality=82, method=6)
        if made.tell() > MOST_BYTES:
            sys.exit(f"{name} has {made.tell()} bytes; expected at most {MOST_BYTES}")
        (IMAGES / f"{name}.webp").write_bytes(made.getvalue())


def take_all(browser: Browser, url: str, scene: Scene) -> None:
    take_entry(Camera(browser, url))
    lin = Camera(browser, url)
    lin.sign_in("lin")
    take_jobs(lin, scene)
    take_runs(lin, scene)
    take_files(lin, scene)
    grace = Camera(browser, url)
    grace.sign_in("grace")
    take_npus(grace, scene)
    admin = Camera(browser, url)
    admin.sign_in("admin")
    take_admin(admin)
    night = Camera(browser, url, theme="dark", language="zh-CN")
    night.sign_in("lin")
    night.shoot("dark-chinese", f"/jobs/{scene.live}/metrics", seconds=3)


def take_entry(camera: Camera) -> None:
    camera.shoot("signin", "/signin", height=620)
    page = camera.go("/register")
    page.get_by_label("User name").fill("kai")
    page.get_by_label("Password").fill("a long sentence")
    page.get_by_label("Full name").fill("Kai Zhang")
    page.get_by_label("Note to the admin").fill("vision, starts Monday")
    camera.shoot("register", height=800)


def take_jobs(camera: Camera, scene: Scene) -> None:
    camera.shoot("overview", "/", seconds=2.5)
    camera.shoot("jobs", "/jobs")
    camera.shoot("submit", f"/submit?from={scene.live}", seconds=2.5, height=900)
    camera.shoot("job", f"/jobs/{scene.live}", seconds=2)
    camera.shoot("logs", f"/jobs/{scene.live}/logs", seconds=2.5)
    camera.shoot("metrics", f"/jobs/{scene.live}/metrics?smoothing=0.6", seconds=3)
    camera.shoot("resources", f"/jobs/{scene.live}/usage", seconds=3)
    camera.shoot("job-failed", f"/jobs/{scene.failed}", seconds=2)
    page = camera.go(f"/jobs/{scene.best}")
    page.get_by_role("button", name="Register model").click()
    camera.shoot("register-model")


def take_runs(camera: Camera, scene: Scene) -> None:
    columns = '["name","state","owner","hparams.lr","hparams.width","metrics.val.accuracy","metrics.train.loss"]'
    camera.shoot("experiments", f"/experiments?folder=cifar10&columns={columns}", seconds=2, height=640)
    compared = f"/experiments/compare?runs={','.join(scene.runs)}"
    camera.shoot("compare", f"{compared}&smoothing=0.4", seconds=3)
    camera.shoot("compare-parallel", f"{compared}&tab=parallel", seconds=2.5, height=700)
    camera.shoot("run", f"/experiments/{scene.runs[1]}", seconds=3)
    camera.shoot("artifact", f"/artifacts/{scene.artifact}", seconds=2, height=560)
    camera.shoot("flow", "/flow?node=model:cifar10-resnet:champion&direction=up&depth=3", seconds=2.5, height=640)
    camera.shoot("models", "/models/cifar10-resnet?project=vision", seconds=2, height=560)


def take_files(camera: Camera, _scene: Scene) -> None:
    camera.shoot("store", "/store?bucket=vision&path=cifar10/", seconds=2, height=640)
    camera.shoot("examples", "/examples", seconds=2)
    camera.shoot("example", "/examples/ddp_images", seconds=2)
    camera.shoot("example-form", "/submit?example=ddp_images", seconds=3)


def take_npus(camera: Camera, scene: Scene) -> None:
    page = camera.go("/submit")
    page.get_by_label("Name", exact=True).fill("llama-8b-dpo")
    page.get_by_label("Command").fill("source /pod.env && python train_dpo.py --epochs 3")
    page.get_by_text("npu-910b-8").first.click()
    page.evaluate("window.scrollTo(0, 0)")
    camera.shoot("submit-npu", seconds=2.5, height=1150)
    camera.shoot("waits", f"/jobs/{scene.waits}", seconds=2)
    camera.shoot("cluster", "/cluster", seconds=2, height=880)


def take_admin(camera: Camera) -> None:
    page = camera.go("/cluster")
    page.get_by_role("button", name="Drain").first.click()
    page.get_by_role("dialog").get_by_label("Reason").fill("new power supply, back at 18:00")
    camera.shoot("drain", height=640)
    camera.shoot("admin", "/admin", seconds=2)
    camera.shoot("flavors", "/admin?tab=flavors", seconds=2, height=560)
    camera.shoot("quotas", "/projects/language?tab=quotas", seconds=2, height=660)
    camera.shoot("audit", "/admin?tab=audit", seconds=2, height=640)


@contextmanager
def team_at_work() -> Iterator[tuple[str, Scene]]:
    with tempfile.TemporaryDirectory() as folder:
        server = RunningServer(Path(folder) / "data", "--simulate", "npu:910b:8").start()
        try:
            yield server.url, set_up(server)
        finally:
            with server.client() as client:
                left = [one.id for one in client.jobs.list() if not is_over(one.state)]
                client.jobs.stop(left)
                for one in left:
                    client.jobs.get(one).wait(timeout=60)
            server.stop()


def main() -> None:
    found = shutil.which("chromium") or sys.exit("Chromium is not installed: scripts/system-packages.sh tests")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with team_at_work() as (url, scene), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-background-networking"]
        )
        take_all(browser, url, scene)
        browser.close()
    total = sum(file.stat().st_size for file in IMAGES.iterdir())
    print(f"{len(list(IMAGES.iterdir()))} pictures, {total / 1e6:.2f} MB, in {IMAGES}")


if __name__ == "__main__":
    main()
